package blob

import (
	"context"
)

// mine returns this rank's units: a run of all, of about as many bytes as the others'.
func (c *conversion) mine(units []unit) []unit {
	if c.o.Compress.on() { // where a chunk goes follows from those before it
		if c.root() {
			return units
		}
		return nil
	}
	n, rank := int64(c.c.Size()), int64(c.c.Rank())
	total := int64(0)
	for _, u := range units {
		total += c.bytesOf(u)
	}
	share := total/n + 1
	from, to, at := 0, 0, int64(0)
	for _, u := range units {
		switch half := at + c.bytesOf(u)/2; {
		case half < rank*share:
			from++
			to++
		case half < (rank+1)*share:
			to++
		}
		at += c.bytesOf(u)
	}
	return units[from:to]
}

func (c *conversion) bytesOf(u unit) int64 {
	return (u.hi - u.lo) * int64(c.schema.vars[u.v].Type.Size())
}

// choose takes the variables and records that are asked for.
func (c *conversion) choose() error {
	r := c.r
	c.records = r.records
	if q := c.o.Records; q != nil {
		if q.End > r.records {
			return usageErr("convert: records %d to %d, but %s has %d", q.First, q.End, r.base, r.records)
		}
		c.first, c.records = q.First, q.End-q.First
	}
	want := map[string]bool{}
	for _, name := range c.o.Vars {
		if _, ok := r.schema.VarID(name); !ok {
			return usageErr("convert: no variable %q in %s", name, r.base)
		}
		want[name] = true
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
	return nil
}

// unit is a piece of a variable's record that is converted at once.
type unit struct {
	v      VarID // of the output
	rec    int64 // of the output
	lo, hi int64 // elements
}

// units lists the work in the order of a canonical file, in pieces of at most limit bytes.
func (c *conversion) units(limit int64) []unit {
	var fixed, recs []unit
	add := func(list []unit, v VarID, rec int64) []unit {
		n, size := c.schema.Elems(v), int64(c.schema.vars[v].Type.Size())
		for lo := int64(0); lo < n; lo += max(1, limit/size) {
			list = append(list, unit{v, rec, lo, min(n, lo+max(1, limit/size))})
		}
		return list
	}
	for v := range c.schema.vars {
		if !c.schema.vars[v].Record {
			fixed = add(fixed, VarID(v), 0)
		}
	}
	for rec := range c.records {
		for v := range c.schema.vars {
			if c.schema.vars[v].Record {
				recs = add(recs, VarID(v), rec)
			}
		}
	}
	return append(fixed, recs...)
}

// read reads one unit of the source.
func (c *conversion) read(ctx context.Context, u unit, dst []byte, big bool) error {
	src, rec := c.src[u.v], u.rec
	if c.r.schema.vars[src].Record {
		rec += c.first
	}
	return c.r.raw(ctx, src, rec, u.lo, u.hi, dst, form{big, c.o.ZeroFill})
}

// expect adds units to what progress is measured by.
func (c *conversion) expect(units []unit) {
	for _, u := range units {
		c.total.Add(c.bytesOf(u))
	}
}

func (c *conversion) progress(n int64) {
	d := c.done.Add(n)
	if c.o.Progress != nil {
		c.o.Progress(d, c.total.Load())
	}
}
