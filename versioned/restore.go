package versioned

import (
	"context"
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
	if err := a.state.win.Fence(ctx); err != nil { // before anybody changes what is his
		return err
	}
	if a.nodes.remote {
		x := &bringing{nodes: a.nodes, cat: a.cat, state: a.state, rec: rec, v: v}
		return x.run(ctx)
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

// bringing is Restore where ranks cannot read what others keep: those that can read a segment put it to where it belongs.
type bringing struct {
	nodes   *nodes
	cat     *catalog
	state   *state
	rec     *record
	v       *verInfo
	brought []int64 // by segment of the version: 1 when somebody has read it
}

// run lets first those try that have files of a segment, then, for what they could not read, those that may have copies. It is collective.
func (x *bringing) run(ctx context.Context) error {
	clear(x.state.local)
	if err := x.state.win.Fence(ctx); err != nil {
		return err
	}
	c := x.nodes.c
	if err := comm.Agree(ctx, c, x.nowhere()); err != nil {
		return err
	}
	g, _ := x.rec.generation(x.v.Gen)
	x.brought = make([]int64, g.Segs)
	var cause error
	for copies := range x.nodes.copies + 1 {
		if err := x.bringOwn(ctx, g, copies); cause == nil {
			cause = err
		}
		all, err := c.AllreduceInt64(ctx, x.brought, comm.Max)
		if err != nil {
			return err
		}
		x.brought = all
		if x.whole() {
			break
		}
		if copies == x.nodes.copies {
			if err := comm.Agree(ctx, c, cause); err != nil {
				return err
			}
			return pkg.Errorf("array %s: version %d: no node has all of it: %w", x.nodes.array, x.v.Number, ErrMissing) // on all ranks
		}
	}
	return x.state.win.Fence(ctx)
}

// needs says whether the version may need a file.
func (x *bringing) needs(f *fileInfo) bool { return f.Gen == x.v.Gen && f.From <= x.v.Number }

// whole says whether all segments were brought of which there are files.
func (x *bringing) whole() bool {
	for i := range x.rec.Files {
		f := &x.rec.Files[i]
		if x.needs(f) && slices.ContainsFunc(f.Segs, func(s int) bool { return x.brought[s] == 0 }) {
			return false
		}
	}
	return true
}

// nowhere returns an error if a file is on no node that the version may need.
func (x *bringing) nowhere() error {
	for i := range x.rec.Files {
		f := &x.rec.Files[i]
		if x.needs(f) && f.Node >= x.nodes.count && !x.others(f) {
			return pkg.Errorf("array %s: %s is on no node: %w", x.nodes.array, f.Name, ErrMissing)
		}
	}
	return nil
}

// others says whether nodes have other files of all segments of one that is lost: those who read them hear whether the version needs it.
func (x *bringing) others(lost *fileInfo) bool {
	for _, s := range lost.Segs {
		if !slices.ContainsFunc(x.rec.Files, func(f fileInfo) bool { return x.needs(&f) && f.Node < x.nodes.count && slices.Contains(f.Segs, s) }) {
			return false
		}
	}
	return true
}

// bringOwn brings the segments that nobody has brought and of which this node has files, those of the node so many before it. The error is
// that of the last segment that could not be read.
func (x *bringing) bringOwn(ctx context.Context, g *geometry, copies int) (bad error) {
	if !x.nodes.keeper {
		return nil
	}
	here := map[int]bool{} // segments of which this node has files
	for i := range x.rec.Files {
		f := &x.rec.Files[i]
		for _, s := range f.Segs {
			if f.Gen == g.ID && (f.Node+copies)%x.nodes.count == x.nodes.own {
				here[s] = true
			}
		}
	}
	for s := range g.Segs {
		if !here[s] || x.brought[s] != 0 {
			continue
		}
		if err := x.bringSegment(ctx, g, s); err != nil {
			bad = err
			continue
		}
		x.brought[s] = 1
	}
	return bad
}

func (x *bringing) bringSegment(ctx context.Context, g *geometry, s int) error {
	spec := x.state.spec
	size := int64(spec.Type.Size())
	piece := max((1<<20)/int64(spec.Chunk), 1) * spec.chunkElems()
	first := int64(s) * g.Seg
	end := min(first+g.segLen(s), elems(x.v.Shape))
	var buf []byte
	for off := first; off < end; off += piece {
		n := min(piece, end-off)
		if buf == nil {
			buf = make([]byte, n*size)
		}
		b := buf[:n*size]
		if err := x.cat.read(ctx, x.rec, x.v, off, n, b, true); err != nil {
			return err
		}
		if err := x.state.put(ctx, off, b); err != nil {
			return err
		}
	}
	return nil
}
