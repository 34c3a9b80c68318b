package versioned

import (
	"context"
	"errors"
	"slices"

	"blobio/comm"
)

// Restore makes the current state that of a committed version, its shape included. Nothing is committed by it, and no version
// changes. It is collective.
func (a *Array) Restore(ctx context.Context, version int64) error {
	rec := a.cat.record()
	v, ok := rec.version(version)
	bad := a.broken
	if bad == nil && !ok {
		bad = pkg.Errorf("array %s: version %d: %w", a.spec.Name, version, ErrNoVersion)
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	if _, err := a.resize(ctx, v.Shape, false); err != nil {
		return err
	}
	if err := a.win.Fence(ctx); err != nil { // before anybody changes what is his
		return err
	}
	if a.remote {
		return a.bring(ctx, rec, v)
	}
	first := int64(a.c.Rank()) * a.geo.Seg
	n := min(max(elems(v.Shape)-first, 0), a.geo.segLen(a.c.Rank()))
	used := n * int64(a.spec.Type.Size())
	var err error
	if n > 0 {
		err = a.cat.read(ctx, rec, v, first, n, a.local[:used], true)
	}
	clear(a.local[used:])
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return err
	}
	return a.win.Fence(ctx)
}

// bring is Restore where ranks cannot read what others keep: those that can read a segment put it to where it belongs. First
// those try that have files of it, then, for what they could not read, those that may have copies.
func (a *Array) bring(ctx context.Context, rec *record, v *verInfo) error {
	clear(a.local)
	if err := a.win.Fence(ctx); err != nil {
		return err
	}
	if err := comm.Agree(ctx, a.c, a.nowhere(rec, v)); err != nil {
		return err
	}
	g, _ := rec.generation(v.Gen)
	brought := make([]int64, g.Segs) // 1: somebody has read it
	var cause error
	for copies := range a.cat.copies + 1 {
		bad := false
		if err := a.bringOwn(ctx, rec, v, copies, brought); cause == nil {
			cause = err
		}
		all, rerr := a.c.AllreduceInt64(ctx, brought, comm.Max)
		if rerr != nil {
			return rerr
		}
		brought = all
		for i := range rec.Files {
			f := &rec.Files[i]
			bad = bad || f.Gen == g.ID && f.From <= v.Number && slices.ContainsFunc(f.Segs, func(s int) bool { return brought[s] == 0 })
		}
		if !bad {
			break
		}
		if copies == a.cat.copies {
			if err := comm.Agree(ctx, a.c, cause); err != nil {
				return err
			}
			return pkg.Errorf("array %s: version %d: no node has all of it: %w", a.spec.Name, v.Number, ErrMissing) // on all ranks
		}
	}
	return a.win.Fence(ctx)
}

// nowhere returns an error if a file is on no node that the version may need.
func (a *Array) nowhere(rec *record, v *verInfo) error {
	for i := range rec.Files {
		f := &rec.Files[i]
		if f.Gen == v.Gen && f.Node >= a.nodes && f.From <= v.Number && !a.others(rec, f, v.Number) {
			return pkg.Errorf("array %s: %s is on no node: %w", a.spec.Name, f.Name, ErrMissing)
		}
	}
	return nil
}

// bringOwn brings the segments that nobody has brought and of which this node has files, those of the node so many before it. The error is
// that of the last segment that could not be read.
func (a *Array) bringOwn(ctx context.Context, rec *record, v *verInfo, copies int, brought []int64) (bad error) {
	if !a.keeper {
		return nil
	}
	g, _ := rec.generation(v.Gen)
	here := map[int]bool{} // segments of which this node has files
	for i := range rec.Files {
		f := &rec.Files[i]
		for _, s := range f.Segs {
			if f.Gen == g.ID && (f.Node+copies)%a.nodes == a.nodeID {
				here[s] = true
			}
		}
	}
	for s := range g.Segs {
		if !here[s] || brought[s] != 0 {
			continue
		}
		if err := a.bringSegment(ctx, rec, v, g, s); err != nil {
			bad = err
			continue
		}
		brought[s] = 1
	}
	return bad
}

func (a *Array) bringSegment(ctx context.Context, rec *record, v *verInfo, g *geometry, s int) error {
	size := int64(a.spec.Type.Size())
	piece := max((1<<20)/int64(a.spec.Chunk), 1) * a.chunkElems()
	first := int64(s) * g.Seg
	end := min(first+g.segLen(s), elems(v.Shape))
	var buf []byte
	for off := first; off < end; off += piece {
		n := min(piece, end-off)
		if buf == nil {
			buf = make([]byte, n*size)
		}
		b := buf[:n*size]
		if err := a.cat.read(ctx, rec, v, off, n, b, true); err != nil {
			return err
		}
		if err := a.geo.pieces(off, n, func(seg int, at, k, pos int64) error {
			return a.win.Put(ctx, seg, at*size, b[pos*size:(pos+k)*size])
		}); err != nil {
			return err
		}
	}
	return nil
}

// others says whether nodes have other files of all segments of one that is lost: those who read them hear whether the version needs it.
func (a *Array) others(rec *record, lost *fileInfo, version int64) bool {
	for _, s := range lost.Segs {
		if !slices.ContainsFunc(rec.Files, func(f fileInfo) bool {
			return f.Gen == lost.Gen && f.Node < a.nodes && f.From <= version && slices.Contains(f.Segs, s)
		}) {
			return false
		}
	}
	return true
}

// Reserve gives a one-dimensional array another length, as a regrid does. Within its capacity nothing moves; over it, or at every
// call with Spec.EveryRegrid, it is made anew, of a capacity of (1+Extra) times the length, and again says
// so. What both lengths have stays in the current state, the rest is zeros; versions taken before stay as they are. It is collective.
func (a *Array) Reserve(ctx context.Context, length int64) (again bool, err error) {
	return a.reserve(ctx, length, nil)
}

// reserve is Reserve of a rank that may have failed already.
func (a *Array) reserve(ctx context.Context, length int64, bad error) (again bool, err error) {
	if bad == nil {
		bad = a.broken
	}
	if bad == nil && (len(a.shape) != 1 || length < 0 || length > maxElems) {
		bad = usageErr("array %s: Reserve of %d elements, %d dimensions; want a length of one dimension", a.spec.Name, length, len(a.shape))
	}
	ends, err := comm.AgreeMin(ctx, a.c, bad, length, ^length)
	if err == nil && ends[0] != ^ends[1] { // on all ranks
		err = usageErr("array %s: Reserve of %d elements on one rank, of %d on another", a.spec.Name, ends[0], ^ends[1])
	}
	if err != nil {
		return false, err
	}
	if length >= a.shape[0] && length <= a.geo.Capacity && !a.spec.EveryRegrid {
		a.shape = []int64{length} // what is new is zeros already
		return false, nil
	}
	if err := a.win.Fence(ctx); err != nil {
		return false, err
	}
	return a.resize(ctx, []int64{length}, true)
}

// resize gives the current state a shape. keep keeps what is there; otherwise only the room counts.
func (a *Array) resize(ctx context.Context, shape []int64, keep bool) (again bool, err error) {
	need := elems(shape)
	if need <= a.geo.Capacity && !(keep && a.spec.EveryRegrid) {
		old := elems(a.shape)
		a.shape = slices.Clone(shape)
		if need < old { // what is beyond the end stays zeros
			first := int64(a.c.Rank()) * a.geo.Seg
			from := min(max(need-first, 0), a.geo.segLen(a.c.Rank())) * int64(a.spec.Type.Size())
			clear(a.local[from:])
		}
		return false, a.win.Fence(ctx)
	}
	was := *a
	last := a.cat.record().Generations
	id := max(a.geo.ID, last[len(last)-1].ID) + 1
	if err := a.allocate(ctx, newGeometry(id, a.capacity(0, need), a.c.Size(), a.chunkElems())); err != nil {
		return false, err
	}
	var failed error
	if keep {
		size := int64(a.spec.Type.Size())
		first := int64(a.c.Rank()) * a.geo.Seg
		n := min(min(elems(was.shape), need)-first, a.geo.segLen(a.c.Rank()))
		if n > 0 {
			failed = was.geo.pieces(first, n, func(seg int, at, k, pos int64) error {
				return was.win.Get(ctx, seg, at*size, a.local[pos*size:(pos+k)*size])
			})
		}
	}
	if err := comm.Agree(ctx, a.c, failed); err != nil {
		next := a.win
		*a = was // the state is what it was
		return false, errors.Join(err, next.Free(ctx))
	}
	a.shape = slices.Clone(shape)
	if err := was.win.Free(ctx); err != nil {
		return false, err
	}
	return true, a.win.Fence(ctx)
}
