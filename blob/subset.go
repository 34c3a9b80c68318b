package blob

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
)

// Span is Count indices of a dimension, Stride apart, from First on.
type Span = slab.Span

// Index selects indices of a dimension, in this order: one span after the other, each index at most once.
type Index = slab.Index

// Subset selects indices along dimensions, by name; dimensions without an entry are taken whole. Indices of the record dimension are records.
type Subset map[string]Index

// restrict takes only what a subset says along the dimensions. The maps of the source are of no use for the rest of an array.
func (c *selection) restrict(what string, sub Subset) error {
	if len(sub) == 0 {
		return nil
	}
	s, src := NewSchema(), c.r.schema
	s.dims, s.atts, s.decomps, s.vars = slices.Clone(c.schema.dims), c.schema.atts, c.schema.decomps, slices.Clone(c.schema.vars)
	take := make([]Index, len(s.dims))
	cut := false
	for name, x := range sub {
		d := slices.IndexFunc(s.dims, func(d cdf5.Dim) bool { return d.Name == cdf5.NormalName(name) })
		if d < 0 {
			return fault.Usage("%s: no dimension %q in %s", what, name, c.r.base)
		}
		n := s.dims[d].Len
		record := n == Unlimited
		if record {
			n = c.r.records
		}
		if err := x.Check(n); err != nil {
			return fault.Usage("%s: dimension %q: %v", what, name, err)
		}
		switch {
		case !record:
			take[d], s.dims[d].Len, cut = x, x.Len(), true
		case c.first != 0 || c.records != c.r.records:
			return fault.Usage("%s: records are chosen, and along dimension %q, too", what, name)
		default:
			c.recs, c.records = x, x.Len()
		}
	}
	if cut {
		s.decomps = nil
	}
	c.arrays = make([]*slab.Array, len(s.vars))
	for v := range s.vars {
		sv := &s.vars[v]
		if cut {
			sv.Decomp = 0
		}
		dims := sv.Dims
		if sv.Record {
			dims = dims[1:]
		}
		x := make([]Index, len(dims))
		for i, d := range dims {
			x[i] = take[d]
		}
		if a := slab.NewArray(src.Shape(c.src[v]), x); !a.Whole() {
			c.arrays[v] = a
		}
	}
	c.schema = s
	return nil
}

// runsOf returns what elements [lo, hi) of a record of a variable are in the source.
func (c *selection) runsOf(v VarID, lo, hi int64) iter.Seq2[int64, int64] {
	if c.arrays != nil && c.arrays[v] != nil {
		return c.arrays[v].Runs(lo, hi)
	}
	return func(yield func(int64, int64) bool) { yield(lo, hi-lo) }
}

// inSource returns runs of a record of a variable in the terms of the source.
func (c *selection) inSource(v VarID, runs iter.Seq2[int64, int64]) iter.Seq2[int64, int64] {
	if c.arrays == nil || c.arrays[v] == nil {
		return runs
	}
	return func(yield func(int64, int64) bool) {
		for lo, n := range runs {
			for off, k := range c.arrays[v].Runs(lo, lo+n) {
				if !yield(off, k) {
					return
				}
			}
		}
	}
}

// want is how elements [lo, hi) of a record of a variable are read, all in the terms of what is taken.
func (c *selection) want(v VarID, rec, lo, hi int64, dst []byte, fm form) want {
	w := want{lo: lo, hi: hi, dst: dst, fm: fm}
	w.v, w.rec = c.source(v, rec)
	if c.arrays != nil && c.arrays[v] != nil {
		w.runs = c.arrays[v].Runs(lo, hi)
	}
	return w
}

// decomposed says that a variable is so in the source.
func (c *selection) decomposed(v VarID) bool {
	src, _ := c.source(v, 0)
	return c.r.schema.vars[src].Decomp != 0
}

// rawRuns reads scattered runs, one after the other.
func (c *selection) rawRuns(ctx context.Context, v VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm form) error {
	src, at := c.source(v, rec)
	return c.r.rawRuns(ctx, src, at, c.inSource(v, runs), dst, fm)
}

// A View is a part of a dataset: some variables, and of dimensions what a Subset takes. It is read as the dataset is, safe for
// concurrent use, as long as its Reader is open.
type View struct{ selection }

// View returns a part of the dataset. Nil stands for all variables, and for all of each dimension.
func (r *Reader) View(vars []string, sub Subset) (*View, error) {
	r = r.now()
	c, err := r.choose("part of "+r.base, vars, nil)
	if err == nil {
		err = c.restrict("part of "+r.base, sub)
	}
	return &View{c}, err
}

// Schema returns what is in the part; dimensions are as long as what is taken of them. It has decompositions only if they are
// those of the dataset.
func (w *View) Schema() *Schema { return w.schema }

// Records returns the number of records of the part.
func (w *View) Records() int64 { return w.records }

// Base returns the path of the dataset.
func (w *View) Base() string { return w.r.base }

// Header returns the header of the ordinary netCDF file of the part, without places. It must not be changed.
func (w *View) Header() *cdf5.Header {
	h := w.schema.canonicalHeader(cdf5.CDF5)
	h.NumRecs = w.records
	return h
}

// Read is Reader.Read in the terms of the part.
func (w *View) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return w.read(ctx, name, start, count, hostForm, func(file cdf5.Type, n int64) (*target, error) { return newTarget(dst, file, n) })
}

// ReadBytes is Reader.ReadBytes in the terms of the part.
func (w *View) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return w.read(ctx, name, start, count, form{big: big}, func(file cdf5.Type, n int64) (*target, error) { return rawTarget(dst, file, n) })
}

// ReadRuns is Reader.ReadRuns in the terms of the part.
func (w *View) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return w.readRuns(ctx, name, rec, runs, dst)
}

// all is everything.
func (r *Reader) all() *selection { return &selection{r: r, schema: r.schema, records: r.records} }

// read is Reader.Read.
func (c *selection) read(ctx context.Context, name string, start, count []int64, fm form, into func(file cdf5.Type, n int64) (*target, error)) error {
	fm.zero = c.r.opt.ZeroFill
	v, ok := c.schema.VarID(name)
	if !ok {
		return fault.Usage("%s: no variable %q", c.r.base, name)
	}
	sv := &c.schema.vars[v]
	shape := c.schema.Shape(v)
	recs, rec0 := int64(1), int64(0)
	full := shape
	if sv.Record {
		full = append([]int64{c.records}, shape...)
	}
	if start == nil && count == nil {
		start, count = make([]int64, len(full)), full
	}
	if err := checkSlab(full, start, count); err != nil {
		return fault.Usage("%s: read of %q: %v", c.r.base, name, err)
	}
	if sv.Record {
		rec0, recs = start[0], count[0]
		start, count = start[1:], count[1:]
	}
	n := product(count)
	out, err := into(sv.Type, recs*n)
	if err != nil {
		return fmt.Errorf("%s: read of %q: %w", c.r.base, name, err)
	}
	if n == 0 {
		return nil
	}
	for k := range recs {
		b := out.bytes(k*n, n)
		src, rec := c.source(v, rec0+k)
		if err := c.r.gather(ctx, src, rec, c.inSource(v, slabRuns(shape, start, count)), b, fm); err != nil {
			return err
		}
		if err := out.convert(k*n, n); err != nil {
			return fmt.Errorf("%s: read of %q record %d: %w", c.r.base, name, rec0+k, err)
		}
	}
	return nil
}

// readRuns is Reader.ReadRuns.
func (c *selection) readRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	v, ok := c.schema.VarID(name)
	if !ok {
		return fault.Usage("%s: no variable %q", c.r.base, name)
	}
	sv := &c.schema.vars[v]
	if err := sv.checkRecord(rec, c.records); err != nil {
		return fault.Usage("%s: read of %q: %v", c.r.base, name, err)
	}
	elems := c.schema.Elems(v)
	total := int64(0)
	for k, q := range runs {
		if q.Length < 0 || q.Offset < 0 || q.Offset > elems || q.Length > elems-q.Offset {
			return fault.Usage("%s: read of %q: run %d is %d elements from %d on, want within %d", c.r.base, name, k, q.Length, q.Offset, elems)
		}
		total += q.Length
	}
	out, err := newTarget(dst, sv.Type, total)
	if err != nil {
		return fmt.Errorf("%s: read of %q: %w", c.r.base, name, err)
	}
	if total == 0 {
		return nil
	}
	src, at := c.source(v, rec)
	if err := c.r.gather(ctx, src, at, c.inSource(v, eachRun(slices.Values(runs))), out.bytes(0, total), form{big: hostBig, zero: c.r.opt.ZeroFill}); err != nil {
		return err
	}
	return out.convert(0, total)
}

// rawTarget is for elements as they are.
func rawTarget(dst []byte, file cdf5.Type, n int64) (*target, error) {
	size := int64(file.Size())
	if int64(len(dst)) != n*size {
		return nil, fault.Usage("into %d bytes, want %d", len(dst), n*size)
	}
	return &target{raw: dst, size: size, file: file}, nil
}
