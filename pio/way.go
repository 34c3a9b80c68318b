package pio

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
)

// way is how a variable comes to the dataset.
type way uint8

const (
	whole    way = iota // not decomposed: the root has all of it
	share               // each rank has one share of the array, of about the same length
	straight            // each rank has what it has written
)

// route is the way of one variable to a writer.
type route struct {
	v      *variable
	name   string // in the writer's schema
	id     blob.VarID
	way    way
	d      *Decomp // straight
	dec    blob.DecompID
	elems  int64 // of a record
	record bool
	old    int64 // records of it that the writer takes from the base
}

// bounds are the elements of a record that a rank has, of whole and share.
func (r *route) bounds(root, rank, ranks int) (lo, hi int64) {
	if r.way == whole {
		if rank == root {
			return 0, r.elems
		}
		return 0, 0
	}
	each, more := r.elems/int64(ranks), r.elems%int64(ranks)
	n := int64(rank)
	lo = n*each + min(n, more)
	return lo, lo + each + map[bool]int64{true: 1}[n < more]
}

// owner is the rank that has an element, and the end of what it has.
func (r *route) owner(off int64, root, ranks int) (rank int, end int64) {
	if r.way == whole {
		return root, r.elems
	}
	each, more := r.elems/int64(ranks), r.elems%int64(ranks)
	if off < more*(each+1) {
		rank = int(off / (each + 1))
	} else {
		rank = int((off-more*(each+1))/each + more)
	}
	_, end = r.bounds(root, rank, ranks)
	return rank, end
}

// rows are the runs of a share, none beyond the end of a row.
func rows(lo, hi, row int64) (runs []decomp.Req) {
	for lo < hi {
		end := min(hi, lo-lo%row+row, lo+1<<30)
		runs = append(runs, decomp.Req{Offset: lo, Length: end - lo})
		lo = end
	}
	return runs
}

// straightBy returns the decomposition that all of a variable was written by, each record once, or nil.
func (f *File) straightBy(ctx context.Context, v *variable) (*Decomp, error) {
	var d *Decomp
	elems := product(f.shape(v))
	for _, rec := range f.log.records(v) { // in order: all ranks find the same one
		list := f.log.of[v][rec]
		w := list[0]
		if len(list) > 1 || w.d == nil || w.off != 0 || w.n != elems || d != nil && d.key != w.d.key || len(f.shape(v)) == 0 {
			return nil, nil
		}
		if w.d.total < elems && w.fill != nil && !bytes.Equal(w.fill, v.fill()) {
			return nil, nil
		}
		d = w.d
	}
	if d == nil {
		return nil, nil
	}
	if ok, err := d.single(ctx); err != nil || !ok {
		return nil, err
	}
	return d, nil
}

// schemaOf builds a schema, and what a rank has of its decompositions.
type schemaOf struct {
	f     *File
	s     *blob.Schema
	parts []blob.Part
	known map[string]blob.DecompID
	wide  bool
}

// decomposition returns that of a route in the schema, which is made if it is not there.
func (b *schemaOf) decomposition(r *route, dims []blob.DimID, shape []int64) blob.DecompID {
	key := fmt.Sprint(shape)
	if r.way == straight {
		key = fmt.Sprint(shape, r.d.key)
	}
	if id, ok := b.known[key]; ok {
		return id
	}
	id := b.s.Decomp(dims...)
	b.known[key] = id
	b.parts = append(b.parts, blob.Part{Decomp: id, Runs: b.f.runsOf(r, shape)})
	b.wide = b.wide || r.elems > 1<<31-1
	return id
}

// runsOf are this rank's elements of a decomposed variable.
func (f *File) runsOf(r *route, shape []int64) []decomp.Req {
	row := shape[len(shape)-1]
	if r.way == straight {
		if row == r.d.dims[len(r.d.dims)-1] {
			return r.d.runs
		}
		var runs []decomp.Req
		for _, q := range r.d.runs {
			runs = append(runs, rows(q.Offset, q.End(), row)...)
		}
		return runs
	}
	lo, hi := r.bounds(f.s.root(), f.s.c.Rank(), f.s.c.Size())
	return rows(lo, hi, row)
}

// fresh plans a new dataset with everything: what is in the base and what was written since.
func (f *File) fresh(ctx context.Context) (*schemaOf, []*route, error) {
	b := &schemaOf{f: f, s: blob.NewSchema(), known: map[string]blob.DecompID{}}
	var ids []blob.DimID
	for _, d := range f.dims {
		ids = append(ids, b.s.Dim(d.name, d.n))
	}
	routes, err := f.ways(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range routes {
		dims := make([]blob.DimID, len(r.v.dims))
		for i, d := range r.v.dims {
			dims[i] = ids[d]
		}
		opts := []blob.VarOption{blob.Atts(r.v.atts...)}
		if shape := f.shape(r.v); r.way != whole {
			r.dec = b.decomposition(r, dims[len(dims)-len(shape):], shape)
			opts = append(opts, blob.Decomposed(r.dec))
		}
		r.id = b.s.Var(r.name, r.v.t, dims, opts...)
	}
	b.s.GlobalAtts(slices.Clone(f.atts)...)
	return b, routes, b.s.Err()
}

// ways finds how each variable comes to a new dataset. One that nobody has written yet is likely to be written as others of its shape.
func (f *File) ways(ctx context.Context) (routes []*route, err error) {
	by := map[string]*Decomp{}
	of := func(r *route) string { return fmt.Sprint(stripped(f.shape(r.v))) }
	for _, v := range f.vars {
		r := &route{v: v, name: v.name, elems: product(f.shape(v)), record: f.isRecord(v)}
		routes = append(routes, r)
		if v.stored != "" {
			if r.old = 1; r.record {
				r.old = f.base.records
			}
		}
		if !f.covers(r) {
			continue
		}
		if r.d, err = f.straightBy(ctx, v); err != nil {
			return nil, err
		}
		if r.d != nil {
			by[of(r)] = r.d
		}
	}
	for _, r := range routes {
		large := len(f.shape(r.v)) > 0 && r.elems*int64(r.v.t.Size()) > f.limits.whole
		if large && r.old == 0 && len(f.log.of[r.v]) == 0 {
			r.d = by[of(r)]
		}
		switch {
		case r.d != nil:
			r.way = straight
		case large:
			r.way = share
		}
	}
	return routes, nil
}

// covers says whether what was written leaves nothing of what the base has of a variable.
func (f *File) covers(r *route) bool {
	for rec := range r.old {
		list := f.log.of[r.v][rec]
		if len(list) == 0 || !list[0].whole() || list[0].off != 0 || list[0].n != r.elems {
			return false
		}
	}
	return true
}

// attChanges are the attributes that are new or have another value; ok is false where others are gone, or the order has changed.
func attChanges(was, is []cdf5.Att) (list []cdf5.Att, ok bool) {
	if len(is) < len(was) {
		return nil, false
	}
	for i, a := range is {
		if i < len(was) && was[i].Name != a.Name {
			return nil, false
		}
		if i < len(was) && was[i].Type == a.Type && fmt.Sprint(was[i].Value) == fmt.Sprint(a.Value) {
			continue
		}
		if a.Name == "_FillValue" {
			return nil, false
		}
		list = append(list, a)
	}
	return list, true
}
