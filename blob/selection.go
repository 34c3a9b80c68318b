package blob

import (
	"fmt"
	"math"

	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
)

// Range is the records First, First+1, ... below End.
type Range struct{ First, End int64 }

// selection is what is taken of a dataset: some variables and records, in the order of the source.
type selection struct {
	r       *Reader
	schema  *Schema // of what is taken
	src     []VarID // by variable of it; nil: the same
	first   int64   // record of the source
	records int64   // how many
	recs    Index   // of the source, if not those from first on

	arrays []*slab.Array // by variable: what is taken of its arrays; nil: everything
}

// choose takes the variables (nil: all) and records (nil: all) that are asked for. what is named in errors.
func (r *Reader) choose(what string, vars []string, q *Range) (selection, error) {
	c := selection{r: r, records: r.records}
	if q != nil {
		if q.First < 0 || q.End < q.First || q.End > r.records {
			return c, fault.Usage("%s: records %d to %d, but %s has %d", what, q.First, q.End, r.base, r.records)
		}
		c.first, c.records = q.First, q.End-q.First
	}
	want := map[string]bool{}
	for _, name := range vars {
		v, ok := r.schema.VarID(name)
		if !ok {
			return c, fault.Usage("%s: no variable %q in %s", what, name, r.base)
		}
		want[r.schema.vars[v].Name] = true
	}
	s := NewSchema()
	s.dims, s.atts, s.decomps = r.schema.dims, r.schema.atts, r.schema.decomps
	for i := range r.schema.vars {
		if len(want) == 0 || want[r.schema.vars[i].Name] {
			s.vars = append(s.vars, r.schema.vars[i])
			c.src = append(c.src, VarID(i))
		}
	}
	c.schema = s
	left := int64(math.MaxInt64 / 2)
	for v := range s.vars {
		sv := &s.vars[v]
		n, recs := s.Elems(VarID(v))*int64(sv.Type.Size()), int64(1)
		if sv.Record {
			recs = c.records
		}
		if n > 0 && recs > left/n {
			return c, fmt.Errorf("%s: %d records of %q and what is before them are over the limit of 2^62 bytes: %w", what, recs, sv.Name, ErrTooLarge)
		}
		left -= n * recs
	}
	return c, nil
}

// source returns a variable and a record of it in the terms of the source.
func (c *selection) source(v VarID, rec int64) (VarID, int64) {
	if c.schema.vars[v].Record {
		if rec += c.first; c.recs != nil {
			rec = c.recs.At(rec)
		}
	}
	if c.src == nil {
		return v, rec
	}
	return c.src[v], rec
}
