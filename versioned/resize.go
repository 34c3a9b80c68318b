package versioned

import (
	"blobio/comm"
	"blobio/internal/base/fault"
	"cmp"
	"context"
	"errors"
)

// Reserve gives a one-dimensional array another length, as a regrid does. Within its capacity nothing moves. Beyond it, or at every
// call with Spec.EveryRegrid, the array is allocated again with a capacity of (1+Extra) times the length, and again is
// true. The current state keeps the elements that both lengths have, the rest is zeros; older versions do not change. Collective.
func (a *Array) Reserve(ctx context.Context, length int64) (again bool, err error) {
	return a.reserve(ctx, length, nil)
}

// reserve is Reserve of a rank that may have failed already.
func (a *Array) reserve(ctx context.Context, length int64, bad error) (again bool, err error) {
	if bad == nil {
		bad = a.broken
	}
	if bad == nil && (len(a.state.shape) != 1 || length < 0 || length > maxElems) {
		bad = fault.Usage("array %s: Reserve of %d elements, %d dimensions; want a length of one dimension", a.spec.Name, length, len(a.state.shape))
	}
	ends, err := comm.AgreeMin(ctx, a.c, bad, length, ^length)
	if err == nil && ends[0] != ^ends[1] { // on all ranks
		err = fault.Usage("array %s: Reserve of %d elements on one rank, of %d on another", a.spec.Name, ends[0], ^ends[1])
	}
	if err != nil {
		return false, err
	}
	if length >= a.state.shape[0] && length <= a.state.geo.Capacity && !a.spec.EveryRegrid {
		a.state.shape = []int64{length} // what is new is zeros already
		return false, nil
	}
	if err := a.state.win.Fence(ctx); err != nil {
		return false, err
	}
	return a.resize(ctx, []int64{length}, true)
}

// resize gives the current state a shape. keep keeps what is there; otherwise only the room counts. It is collective.
func (a *Array) resize(ctx context.Context, shape []int64, keep bool) (again bool, err error) {
	need := elems(shape)
	if need <= a.state.geo.Capacity && !(keep && a.spec.EveryRegrid) {
		return false, a.state.reshape(ctx, shape)
	}
	last := a.cat.record().Generations
	id := max(a.state.geo.ID, last[len(last)-1].ID) + 1
	g := newGeometry(id, a.spec.capacity(need), a.c.Size(), a.spec.chunkElems())
	next, err := newState(ctx, a.c, &a.spec, g, shape)
	if err != nil {
		return false, err
	}
	var failed error
	if keep {
		failed = next.copyFrom(ctx, a.state, min(elems(a.state.shape), need))
	}
	if err := comm.Agree(ctx, a.c, failed); err != nil {
		return false, errors.Join(err, next.win.Free(ctx)) // the state is what it was
	}
	was := a.use(next)
	if err := was.win.Free(ctx); err != nil {
		return false, err
	}
	return true, next.win.Fence(ctx)
}

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
