package versioned

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Array is one rank's view of a distributed array. The current state is in the memory of the ranks, and committed versions are in
// the store. Only methods whose comments say so are collective.
type Array struct {
	c    comm.Comm
	spec Spec
	opt  Options

	nodes   *nodes   // the nodes, their ranks, and their stores
	cat     *catalog // finds the chunks of versions; shared by the ranks of the process
	first   bool     // this is the lowest rank of the process, which closes cat
	windows *windows // windows for versions in the memory of other processes; nil if there are none
	state   *state   // the current state, which belongs to one generation
	changes changes  // changes of the state since the newest version

	later  later   // versions that wait for a snapshot before they become durable
	pins   []int64 // versions that snapshots use, ascending; retention does not drop them
	broken error
}

// use makes next, a state of a new generation, the current state. It returns the previous state.
func (a *Array) use(next *state) (was *state) {
	was, a.state = a.state, next
	a.changes.reset(next.chunks())
	return was
}

// writeRecord writes the next record. It is collective.
func (a *Array) writeRecord(ctx context.Context, rec *record) error {
	if a.later.on {
		if err := comm.Agree(ctx, a.c, a.later.syncFiles(a.nodes, rec)); err != nil {
			return err
		}
	}
	broken, err := a.nodes.writeRecords(ctx, rec, a.later.since(rec))
	if broken {
		a.broken = err
	}
	if err == nil {
		a.later.done()
	}
	return err
}

// install makes the record on which all ranks have agreed the record of this process, and removes the files that the record
// drops. It is collective.
func (a *Array) install(ctx context.Context, rec *record) error {
	gone := a.cat.install(rec)
	if err := a.windows.conceal(ctx, rec); err != nil {
		return err
	}
	if a.later.pending {
		return nil // the record on disk may name files that rec drops
	}
	if !a.nodes.memory {
		_ = a.nodes.sweep(rec) // the next sweep removes the remaining files
	} else if a.nodes.keeper { // only remove the files that this record drops
		for _, f := range gone {
			a.nodes.store.fs.Remove(a.nodes.file(f.Name)) // a file of another node may have been written by this rank
		}
	}
	return nil
}

// Spec returns the spec of the array, with the shape of the current state.
func (a *Array) Spec() Spec {
	s := a.spec
	s.Shape = slices.Clone(a.state.shape)
	return s
}

// Versions lists the committed versions, oldest first.
func (a *Array) Versions() []VersionInfo { return a.cat.record().versions() }

// Newest returns the number of the newest committed version that is not tainted, or -1 if all versions are tainted.
func (a *Array) Newest() int64 {
	if v := a.cat.record().newest(); v != nil {
		return v.Number
	}
	return -1
}

// Close ends the use of the array by all ranks. It discards uncommitted changes and versions in memory. It is collective.
func (a *Array) Close(ctx context.Context) error {
	err := errors.Join(a.windows.conceal(ctx, nil), a.state.win.Free(ctx))
	if err == nil {
		err = a.c.Barrier(ctx) // after this no rank reads through the catalog
	}
	if a.first {
		a.cat.close()
	}
	a.broken = fault.Usage("array %s is closed", a.spec.Name)
	return err
}

// Put stores src in the box [lo, hi) of the current state, row-major. Any ranks may own the elements. T must be the type of the
// array. The put is complete when Put returns, but other ranks are certain to see it only after a Fence. If several ranks put to
// the same element between two fences, the element gets one of their values.
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

// GetAt reads the box [lo, hi) of a committed version into dst. It reads and verifies whole chunks.
func GetAt[T comm.Number](ctx context.Context, a *Array, version int64, lo, hi []int64, dst []T) error {
	b, err := bytesFor(a, dst)
	if err != nil {
		return err
	}
	return a.getBytesAt(ctx, version, lo, hi, b)
}

// bytesFor returns the memory of numbers that have the type of the array.
func bytesFor[T comm.Number](a *Array, v []T) ([]byte, error) {
	if t := elem.TypeOf[T](); t != a.spec.Type {
		return nil, fault.Usage("array %s has elements of %v, not of %v", a.spec.Name, a.spec.Type, t)
	}
	return bytesOf(v), nil
}

// putBytes does the same as Put, for elements in their memory form.
func (a *Array) putBytes(ctx context.Context, lo, hi []int64, src []byte) error {
	return a.overBox(lo, hi, src, func(seg int, at int64, b []byte) error { return a.state.win.Put(ctx, seg, at, b) })
}

func (a *Array) getBytes(ctx context.Context, lo, hi []int64, dst []byte) error {
	return a.overBox(lo, hi, dst, func(seg int, at int64, b []byte) error { return a.state.win.Get(ctx, seg, at, b) })
}

func (a *Array) getBytesAt(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if a.broken != nil {
		return a.broken
	}
	return a.cat.get(ctx, a.cat.record(), version, lo, hi, dst)
}

// overBox calls state.overBox for a box of the current state, after it has checked the arguments.
func (a *Array) overBox(lo, hi []int64, buf []byte, f func(seg int, off int64, b []byte) error) error {
	if a.broken != nil {
		return a.broken
	}
	return a.state.overBox(lo, hi, buf, f)
}

// Fence ends an epoch. After a Fence all ranks see the puts made before it. It is collective.
func (a *Array) Fence(ctx context.Context) error {
	if a.broken != nil {
		return comm.Agree(ctx, a.c, a.broken)
	}
	return a.state.win.Fence(ctx)
}

// Reserve changes the length of a one-dimensional array, as a regrid does. If the length exceeds the capacity, or if
// Spec.EveryRegrid is set, Reserve reallocates the array with a capacity of (1+Extra) times the length, and again is true.
// Otherwise no data are moved. The current state keeps the elements within both lengths, and new elements are zeros. Older
// versions do not change. Reserve is collective.
func (a *Array) Reserve(ctx context.Context, length int64) (again bool, err error) {
	return a.reserve(ctx, length, nil)
}

// reserve does the work of Reserve. bad is an earlier error of this rank; if it is not nil, all ranks fail.
func (a *Array) reserve(ctx context.Context, length int64, bad error) (again bool, err error) {
	if bad == nil {
		bad = a.broken
	}
	if bad == nil && (len(a.state.shape) != 1 || length < 0 || length > maxElems) {
		bad = fault.Usage("array %s: Reserve of %d elements in %d dimensions, want a length >= 0 and one dimension", a.spec.Name, length, len(a.state.shape))
	}
	ends, err := comm.AgreeMin(ctx, a.c, bad, length, ^length)
	if err == nil && ends[0] != ^ends[1] { // all ranks take this branch
		err = fault.Usage("array %s: Reserve of %d elements on one rank, of %d on another", a.spec.Name, ends[0], ^ends[1])
	}
	if err != nil {
		return false, err
	}
	if length >= a.state.shape[0] && length <= a.state.geo.Capacity && !a.spec.EveryRegrid {
		a.state.shape = []int64{length} // the new elements are already zeros
		return false, nil
	}
	if err := a.state.win.Fence(ctx); err != nil {
		return false, err
	}
	return a.resize(ctx, []int64{length}, true)
}

// resize changes the shape of the current state. If keep is true, it preserves the elements. It is collective.
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
		return false, errors.Join(err, next.win.Free(ctx)) // the state is still the old one
	}
	was := a.use(next)
	if err := was.win.Free(ctx); err != nil {
		return false, err
	}
	return true, next.win.Fence(ctx)
}

// Restore makes a committed version, including its shape, the current state. It commits nothing and changes no version. It is
// collective.
func (a *Array) Restore(ctx context.Context, version int64) error {
	rec := a.cat.record()
	v, err := rec.find(version)
	if err := sameVersions(ctx, a.c, cmp.Or(a.broken, err), version); err != nil {
		return err
	}
	if _, err := a.resize(ctx, v.Shape, false); err != nil {
		return err
	}
	if err := a.state.win.Fence(ctx); err != nil { // no rank changes its segment before this
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
