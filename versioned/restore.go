package versioned

import (
	"context"
	"fmt"

	"blobio/comm"
)

// Restore makes the current state that of a committed version, its shape included. Nothing is committed by it, and no version
// changes. It is collective.
func (a *Array) Restore(ctx context.Context, version int64) error {
	rec := a.cat.record()
	v, ok := rec.version(version)
	bad := a.broken
	if bad == nil && !ok {
		bad = fmt.Errorf("array %s: version %d: %w", a.spec.Name, version, ErrNoVersion)
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	if _, err := a.resize(ctx, v.Shape, false); err != nil {
		return err
	}
	if err := a.state.win.Fence(ctx); err != nil { // before anybody changes what is his
		return err
	}
	first, n := a.state.mine(elems(v.Shape))
	var err error
	if n > 0 {
		err = a.cat.read(ctx, rec, v, first, n, a.state.local[:n*int64(a.spec.Type.Size())], true)
	}
	a.state.clearFrom(elems(v.Shape))
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return err
	}
	return a.state.win.Fence(ctx)
}
