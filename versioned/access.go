package versioned

import (
	"context"

	"blobio/comm"
	"blobio/internal/fault"
)

// Put stores src in the box [lo, hi) of the current state, row-major, whoever owns it. T must be the type of the array.
// The put is complete when Put returns; other ranks are sure to see it after a Fence. Where ranks put to the same
// element between two fences, one of the values remains, whole.
func Put[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, src []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return fault.Usage("array %s: Put of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	return a.PutBytes(ctx, lo, hi, Bytes(src))
}

// Get reads the box [lo, hi) of the current state into dst, row-major.
func Get[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, dst []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return fault.Usage("array %s: Get of %v, it is %v", a.spec.Name, t, a.spec.Type)
	}
	return a.GetBytes(ctx, lo, hi, Bytes(dst))
}

// GetAt reads the box [lo, hi) of a committed version into dst.
func GetAt[T comm.Number](ctx context.Context, a *Array, version int64, lo, hi []int64, dst []T) error {
	if t := typeOf[T](); t != a.spec.Type {
		return fault.Usage("array %s: Get of %v, it is %v", a.spec.Name, t, a.spec.Type)
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

// Fence ends an epoch: what was put before it is seen by all after it. It is collective.
func (a *Array) Fence(ctx context.Context) error {
	if a.broken != nil {
		return comm.Agree(ctx, a.c, a.broken)
	}
	return a.state.win.Fence(ctx)
}
