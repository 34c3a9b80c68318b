package read

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
)

// Range is the records from First to End-1.
type Range struct{ First, End int64 }

// Selection is a part of a dataset: some variables and records, in the order of the source.
type Selection struct {
	R       *Reader
	Schema  *dataset.Schema // of the part
	Src     []dataset.VarID // by variable of the part: its variable in the source; nil if they are the same
	first   int64           // first record in the source
	Records int64           // number of records
	recs    Index           // records in the source; unset if the records are consecutive

	Arrays []*slab.Array // by variable: the selected part of its arrays; nil if the arrays are whole
}

// Choose selects variables and records; nil selects all. what names the caller in errors.
func (r *Reader) Choose(what string, vars []string, q *Range) (Selection, error) {
	c := Selection{R: r, Records: r.Data.Records}
	if q != nil {
		if q.First < 0 || q.End < q.First || q.End > r.Data.Records {
			return c, fault.Usage("%s: records %d to %d, but %s has %d records", what, q.First, q.End, r.Files.Base, r.Data.Records)
		}
		c.first, c.Records = q.First, q.End-q.First
	}
	want := map[string]bool{}
	for _, name := range vars {
		v, ok := r.Data.Schema.VarID(name)
		if !ok {
			return c, fault.Usage("%s: no variable %q in %s", what, name, r.Files.Base)
		}
		want[r.Data.Schema.Vars[v].Name] = true
	}
	s := dataset.NewSchema()
	s.Dims, s.Atts, s.Decomps = r.Data.Schema.Dims, r.Data.Schema.Atts, r.Data.Schema.Decomps
	for i := range r.Data.Schema.Vars {
		if len(want) == 0 || want[r.Data.Schema.Vars[i].Name] {
			s.Vars = append(s.Vars, r.Data.Schema.Vars[i])
			c.Src = append(c.Src, dataset.VarID(i))
		}
	}
	c.Schema = s
	left := int64(math.MaxInt64 / 2)
	for v := range s.Vars {
		sv := &s.Vars[v]
		n, recs := s.Elems(dataset.VarID(v))*int64(sv.Type.Size()), int64(1)
		if sv.Record {
			recs = c.Records
		}
		if n > 0 && recs > left/n {
			return c, fmt.Errorf("%s: %d records of %q and the variables before exceed the limit of 2^62 bytes: %w", what, recs, sv.Name, dataset.ErrTooLarge)
		}
		left -= n * recs
	}
	return c, nil
}

// source converts a variable and a record of the part to the variable and record of the source.
func (c *Selection) source(v dataset.VarID, rec int64) (dataset.VarID, int64) {
	if c.Schema.Vars[v].Record {
		if rec += c.first; c.recs != nil {
			rec = c.recs.At(rec)
		}
	}
	if c.Src == nil {
		return v, rec
	}
	return c.Src[v], rec
}

// Span is Count indices of a dimension, from First on with distance Stride.
type Span = slab.Span

// Index selects indices of a dimension: one span after the other. An index must not appear twice.
type Index = slab.Index

// Subset selects indices along dimensions, by name. Dimensions without an entry are selected whole. Indices of the record
// dimension are record numbers.
type Subset map[string]Index

// Restrict keeps only the indices of a subset. It also removes the decompositions, because their maps cover whole arrays.
func (c *Selection) Restrict(what string, sub Subset) error {
	if len(sub) == 0 {
		return nil
	}
	s, src := dataset.NewSchema(), c.R.Data.Schema
	s.Dims, s.Atts, s.Decomps, s.Vars = slices.Clone(c.Schema.Dims), c.Schema.Atts, c.Schema.Decomps, slices.Clone(c.Schema.Vars)
	take := make([]Index, len(s.Dims))
	cut := false
	for name, x := range sub {
		d := slices.IndexFunc(s.Dims, func(d cdf5.Dim) bool { return d.Name == cdf5.NormalName(name) })
		if d < 0 {
			return fault.Usage("%s: no dimension %q in %s", what, name, c.R.Files.Base)
		}
		n := s.Dims[d].Len
		record := n == dataset.Unlimited
		if record {
			n = c.R.Data.Records
		}
		if err := x.Check(n); err != nil {
			return fault.Usage("%s: dimension %q: %v", what, name, err)
		}
		switch {
		case !record:
			take[d], s.Dims[d].Len, cut = x, x.Len(), true
		case c.first != 0 || c.Records != c.R.Data.Records:
			return fault.Usage("%s: records are selected both directly and along dimension %q", what, name)
		default:
			c.recs, c.Records = x, x.Len()
		}
	}
	if cut {
		s.Decomps = nil
	}
	c.Arrays = make([]*slab.Array, len(s.Vars))
	for v := range s.Vars {
		sv := &s.Vars[v]
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
		if a := slab.NewArray(src.Shape(c.Src[v]), x); !a.Whole() {
			c.Arrays[v] = a
		}
	}
	c.Schema = s
	return nil
}

// RunsOf returns the runs in the source for elements [lo, hi) of a record of a variable.
func (c *Selection) RunsOf(v dataset.VarID, lo, hi int64) iter.Seq2[int64, int64] {
	if c.Arrays != nil && c.Arrays[v] != nil {
		return c.Arrays[v].Runs(lo, hi)
	}
	return func(yield func(int64, int64) bool) { yield(lo, hi-lo) }
}

// inSource converts runs in a record of a variable to runs in the source.
func (c *Selection) inSource(v dataset.VarID, runs iter.Seq2[int64, int64]) iter.Seq2[int64, int64] {
	if c.Arrays == nil || c.Arrays[v] == nil {
		return runs
	}
	return func(yield func(int64, int64) bool) {
		for lo, n := range runs {
			for off, k := range c.Arrays[v].Runs(lo, lo+n) {
				if !yield(off, k) {
					return
				}
			}
		}
	}
}

// Want returns the want for elements [lo, hi) of a record of a variable. All arguments refer to the part.
func (c *Selection) Want(v dataset.VarID, rec, lo, hi int64, dst []byte, fm Form) Want {
	w := Want{lo: lo, hi: hi, Dst: dst, Fm: fm}
	w.V, w.Rec = c.source(v, rec)
	if c.Arrays != nil && c.Arrays[v] != nil {
		w.runs = c.Arrays[v].Runs(lo, hi)
	}
	return w
}

// decomposed reports whether a variable is decomposed in the source.
func (c *Selection) decomposed(v dataset.VarID) bool {
	src, _ := c.source(v, 0)
	return c.R.Data.Schema.Vars[src].Decomp != 0
}

// RawRuns reads runs that may lie anywhere in a record, one after the other.
func (c *Selection) RawRuns(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	src, at := c.source(v, rec)
	return c.R.Elems.RawRuns(ctx, src, at, c.inSource(v, runs), dst, fm)
}

// all selects the whole dataset.
func (r *Reader) all() *Selection {
	return &Selection{R: r, Schema: r.Data.Schema, Records: r.Data.Records}
}

// read is Reader.Read.
func (c *Selection) read(ctx context.Context, name string, start, count []int64, fm Form, into func(file cdf5.Type, n int64) (*target, error)) error {
	fm.Zero = c.R.Files.Opt.ZeroFill
	v, ok := c.Schema.VarID(name)
	if !ok {
		return fault.Usage("%s: no variable %q", c.R.Files.Base, name)
	}
	sv := &c.Schema.Vars[v]
	shape := c.Schema.Shape(v)
	recs, rec0 := int64(1), int64(0)
	full := shape
	if sv.Record {
		full = append([]int64{c.Records}, shape...)
	}
	if start == nil && count == nil {
		start, count = make([]int64, len(full)), full
	}
	if err := dataset.CheckSlab(full, start, count); err != nil {
		return fault.Usage("%s: read of %q: %v", c.R.Files.Base, name, err)
	}
	if sv.Record {
		rec0, recs = start[0], count[0]
		start, count = start[1:], count[1:]
	}
	n := dataset.Product(count)
	out, err := into(sv.Type, recs*n)
	if err != nil {
		return fmt.Errorf("%s: read of %q: %w", c.R.Files.Base, name, err)
	}
	if n == 0 {
		return nil
	}
	for k := range recs {
		b := out.bytes(k*n, n)
		src, rec := c.source(v, rec0+k)
		if err := c.R.Elems.gather(ctx, src, rec, c.inSource(v, dataset.SlabRuns(shape, start, count)), b, fm); err != nil {
			return err
		}
		if err := out.convert(k*n, n); err != nil {
			return fmt.Errorf("%s: read of %q, record %d: %w", c.R.Files.Base, name, rec0+k, err)
		}
	}
	return nil
}

// readRuns is Reader.ReadRuns.
func (c *Selection) readRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	v, ok := c.Schema.VarID(name)
	if !ok {
		return fault.Usage("%s: no variable %q", c.R.Files.Base, name)
	}
	sv := &c.Schema.Vars[v]
	if err := sv.CheckRecord(rec, c.Records); err != nil {
		return fault.Usage("%s: read of %q: %v", c.R.Files.Base, name, err)
	}
	elems := c.Schema.Elems(v)
	total := int64(0)
	for k, q := range runs {
		if q.Length < 0 || q.Offset < 0 || q.Offset > elems || q.Length > elems-q.Offset {
			return fault.Usage("%s: read of %q: run %d has %d elements from element %d on, want a run within %d elements", c.R.Files.Base, name, k, q.Length, q.Offset, elems)
		}
		total += q.Length
	}
	out, err := newTarget(dst, sv.Type, total)
	if err != nil {
		return fmt.Errorf("%s: read of %q: %w", c.R.Files.Base, name, err)
	}
	if total == 0 {
		return nil
	}
	src, at := c.source(v, rec)
	if err := c.R.Elems.gather(ctx, src, at, c.inSource(v, EachRun(slices.Values(runs))), out.bytes(0, total), Form{Big: dataset.HostBig, Zero: c.R.Files.Opt.ZeroFill}); err != nil {
		return err
	}
	return out.convert(0, total)
}

// rawTarget makes the target of a read without conversion.
func rawTarget(dst []byte, file cdf5.Type, n int64) (*target, error) {
	size := int64(file.Size())
	if int64(len(dst)) != n*size {
		return nil, fault.Usage("destination has %d bytes, want %d", len(dst), n*size)
	}
	return &target{raw: dst, size: size, file: file}, nil
}
