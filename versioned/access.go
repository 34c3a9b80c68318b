package versioned

import (
	"context"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Put stores src in the box [lo, hi) of the current state, row-major, whoever owns it. T must be the type of the array.
// The put is complete when Put returns; other ranks are sure to see it after a Fence. Where ranks put to the same
// element between two fences, one of the values remains, whole.
func Put[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, src []T) error {
	b, err := bytesFor(a, src)
	if err != nil {
		return err
	}
	return a.putBytes(ctx, lo, hi, b)
}

// Get reads the box [lo, hi) of the current state into dst, row-major.
func Get[T comm.Number](ctx context.Context, a *Array, lo, hi []int64, dst []T) error {
	b, err := bytesFor(a, dst)
	if err != nil {
		return err
	}
	return a.getBytes(ctx, lo, hi, b)
}

// GetAt reads the box [lo, hi) of a committed version into dst. Every chunk that it touches is read whole and verified.
func GetAt[T comm.Number](ctx context.Context, a *Array, version int64, lo, hi []int64, dst []T) error {
	b, err := bytesFor(a, dst)
	if err != nil {
		return err
	}
	return a.getBytesAt(ctx, version, lo, hi, b)
}

// bytesFor views numbers of the type of an array as their memory.
func bytesFor[T comm.Number](a *Array, v []T) ([]byte, error) {
	if t := elem.TypeOf[T](); t != a.spec.Type {
		return nil, fault.Usage("array %s has elements of %v, not of %v", a.spec.Name, a.spec.Type, t)
	}
	return bytesOf(v), nil
}

// putBytes is Put of elements as they lie in memory.
func (a *Array) putBytes(ctx context.Context, lo, hi []int64, src []byte) error {
	return a.overBox(lo, hi, src, func(seg int, at int64, b []byte) error { return a.state.win.Put(ctx, seg, at, b) })
}

// getBytes is Get of elements as they lie in memory.
func (a *Array) getBytes(ctx context.Context, lo, hi []int64, dst []byte) error {
	return a.overBox(lo, hi, dst, func(seg int, at int64, b []byte) error { return a.state.win.Get(ctx, seg, at, b) })
}

// getBytesAt is GetAt of elements as they lie in memory.
func (a *Array) getBytesAt(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if a.broken != nil {
		return a.broken
	}
	return a.cat.get(ctx, a.cat.record(), version, lo, hi, dst)
}

// overBox calls f for the parts of a box of the current state: see state.overBox.
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
