package versioned

import (
	"context"
	"encoding/binary"

	"blobio/comm"
	"blobio/internal/elem"
)

// Put stores src in the box [lo, hi) of the current state, row-major, whoever owns it. T must be the type of the array.
// The put is complete when Put returns; other ranks are sure to see it after a Fence. Where ranks put to the same
// element between two fences, one of the values remains, whole.
func Put[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, src []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return pkg.Usage("array %s: Put of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	return a.PutBytes(ctx, lo, hi, Bytes(src))
}

// Get reads the box [lo, hi) of the current state into dst, row-major.
func Get[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, dst []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return pkg.Usage("array %s: Get of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	return a.GetBytes(ctx, lo, hi, Bytes(dst))
}

// GetAt reads the box [lo, hi) of a committed version into dst.
func GetAt[T comm.Number](ctx context.Context, a *Array, version int64, lo, hi []int64, dst []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return pkg.Usage("array %s: Get of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	return a.GetBytesAt(ctx, version, lo, hi, Bytes(dst))
}

// PutBytes is Put of elements as they lie in memory.
func (a *Array) PutBytes(ctx context.Context, lo, hi []int64, src []byte) error {
	return a.overBox(lo, hi, src, func(seg int, at int64, b []byte) error { return a.state.win.Put(ctx, seg, at, b) })
}

// GetBytes is Get of elements as they lie in memory.
func (a *Array) GetBytes(ctx context.Context, lo, hi []int64, dst []byte) error {
	return a.overBox(lo, hi, dst, func(seg int, at int64, b []byte) error { return a.state.win.Get(ctx, seg, at, b) })
}

// GetBytesAt is GetAt of elements as they lie in memory.
func (a *Array) GetBytesAt(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if a.broken != nil {
		return a.broken
	}
	return a.cat.get(ctx, a.cat.record(), version, lo, hi, dst, false)
}

// overBox is that of the current state.
func (a *Array) overBox(lo, hi []int64, buf []byte, f func(seg int, off int64, b []byte) error) error {
	if a.broken != nil {
		return a.broken
	}
	return a.state.overBox(lo, hi, buf, f)
}

// Accumulate combines the elements of the box with src by op (Sum, Prod, Max, Min, Replace; on integers also
// BAnd, BOr, BXor), each atomically, so that nothing of what several ranks add is lost. Sums of floats depend on the order
// of the ranks in their rounding.
func Accumulate[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, src []T, op comm.Op) error {
	t := typeOf[T]()
	if t != a.spec.Type {
		return pkg.Usage("array %s: Accumulate of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	if err := knownOp(t, op); err != nil {
		return err
	}
	size := t.Size()
	return a.overBox(lo, hi, Bytes(src), func(seg int, at int64, b []byte) error {
		switch t {
		case Int64:
			return a.state.win.AccumulateInt64(ctx, seg, at, elem.View[int64](b), op)
		case Float64:
			return a.state.win.AccumulateFloat64(ctx, seg, at, elem.View[float64](b), op)
		}
		for i := 0; i < len(b); i += size {
			v := elem.View[T](b[i : i+size])[0]
			if _, err := update(ctx, a.state.win, seg, at+int64(i), size, func(old T) T { return combine(old, v, op) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetAccumulate is Accumulate of one element that returns what it was before.
func GetAccumulate[T comm.Number](ctx context.Context, a *Array, at []int64, v T, op comm.Op) (old T, err error) {
	if err := knownOp(typeOf[T](), op); err != nil {
		return old, err
	}
	return one(ctx, a, at, v, func(old T) T { return combine(old, v, op) })
}

// CompareAndSwap stores v in an element if it is old, compared by its bits, and returns what it was before.
func CompareAndSwap[T comm.Number](ctx context.Context, a *Array, at []int64, old, v T) (was T, err error) {
	return one(ctx, a, at, v, func(x T) T {
		if string(Bytes([]T{x})) == string(Bytes([]T{old})) {
			return v
		}
		return x
	})
}

func one[T comm.Number](ctx context.Context, a *Array, at []int64, v T, f func(T) T) (old T, err error) {
	if t := typeOf[T](); t != a.spec.Type {
		return old, pkg.Usage("array %s: access as %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	hi := make([]int64, len(at))
	for d := range at {
		hi[d] = at[d] + 1
	}
	err = a.overBox(at, hi, Bytes([]T{v}), func(seg int, at int64, b []byte) error {
		old, err = update(ctx, a.state.win, seg, at, len(b), f)
		return err
	})
	return old, err
}

// update replaces an element by f of it, atomically: by comparing and swapping the word of 8 bytes that
// holds it. Segments are whole words.
func update[T comm.Number](ctx context.Context, w comm.Window, seg int, at int64, size int, f func(T) T) (old T, err error) {
	word, in := at&^7, int(at&7)
	var b, n [8]byte
	if err := w.Get(ctx, seg, word, b[:]); err != nil {
		return old, err
	}
	for {
		old = elem.View[T](b[in : in+size])[0]
		n = b
		copy(n[in:], Bytes([]T{f(old)}))
		was := int64(binary.NativeEndian.Uint64(b[:]))
		got, err := w.CompareAndSwapInt64(ctx, seg, word, was, int64(binary.NativeEndian.Uint64(n[:])))
		if err != nil || got == was {
			return old, err
		}
		binary.NativeEndian.PutUint64(b[:], uint64(got))
	}
}

func knownOp(t Type, op comm.Op) error {
	switch op {
	case comm.Sum, comm.Prod, comm.Max, comm.Min, comm.Replace:
		return nil
	case comm.BAnd, comm.BOr, comm.BXor:
		if t != Float32 && t != Float64 {
			return nil
		}
	}
	return pkg.Usage("%v on %v", op, t)
}

func combine[T comm.Number](a, b T, op comm.Op) T {
	switch op {
	case comm.Sum:
		return a + b
	case comm.Prod:
		return a * b
	case comm.Max: // NaN if one of them is, 0 of 0 and -0: whatever the order
		return max(a, b)
	case comm.Min:
		return min(a, b)
	case comm.Replace:
		return b
	}
	x, y := Bytes([]T{a}), Bytes([]T{b})
	for i := range x {
		switch op {
		case comm.BAnd:
			x[i] &= y[i]
		case comm.BOr:
			x[i] |= y[i]
		case comm.BXor:
			x[i] ^= y[i]
		}
	}
	return elem.View[T](x)[0]
}

// Fence ends an epoch: what was put before it is seen by all after it. It is collective.
func (a *Array) Fence(ctx context.Context) error {
	if a.broken != nil {
		return comm.Agree(ctx, a.c, a.broken)
	}
	return a.state.win.Fence(ctx)
}
