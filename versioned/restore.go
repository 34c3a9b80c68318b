package versioned

import (
	"cmp"
	"context"

	"blobio/comm"
)

// Restore makes the current state that of a committed version, its shape included. Nothing is committed by it, and no version
// changes. It is collective.
func (a *Array) Restore(ctx context.Context, version int64) error {
	rec := a.cat.record()
	v, err := rec.find(version)
	if err := comm.Agree(ctx, a.c, cmp.Or(a.broken, err)); err != nil {
		return err
	}
	if _, err := a.resize(ctx, v.Shape, false); err != nil {
		return err
	}
	if err := a.state.win.Fence(ctx); err != nil { // before anybody changes what is his
		return err
	}
	first, n := a.state.mine(elems(v.Shape))
	if n > 0 {
		err = a.cat.read(ctx, rec, v, first, n, a.state.local[:n*int64(a.spec.Type.Size())])
	}
	a.state.clearFrom(elems(v.Shape))
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return err
	}
	return a.state.win.Fence(ctx)
}
