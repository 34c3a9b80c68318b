package convert

import (
	"context"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// assign chooses the maps of the output and assigns decompositions to its variables. It replaces the schema of the conversion.
func (c *conversion) assign(ctx context.Context) ([]*decomp.Map, int, error) {
	s := dataset.NewSchema()
	s.Dims, s.Atts = c.Schema.Dims, c.Schema.Atts
	s.Vars = append([]dataset.Variable(nil), c.Schema.Vars...)
	old := c.Schema
	c.Schema = s
	ranks := c.o.Ranks
	if len(c.o.Maps) == 0 && len(old.Decomps) > 0 {
		var maps []*decomp.Map
		for d := range old.Decomps {
			m, err := c.R.Now().Maps.Map(ctx, dataset.DecompID(d+1))
			if err != nil {
				return nil, 0, err
			}
			maps = append(maps, m)
		}
		if ranks == 0 || ranks == maps[0].Ranks() {
			s.Decomps = old.Decomps
			return maps, maps[0].Ranks(), nil
		}
	}
	for i := range s.Vars {
		s.Vars[i].Decomp = 0
	}
	if len(c.o.Maps) > 0 {
		ranks = c.o.Maps[0].Ranks()
		return c.o.Maps, ranks, c.assignMaps(s, ranks)
	}
	if ranks == 0 {
		return nil, 0, fault.Usage("convert to blobs: %s has no maps, want maps or a number of ranks", c.R.Files.Base)
	}
	// Without maps, the elements are divided equally in canonical order, for every shape with at least one element per rank.
	var maps []*decomp.Map
	for i := range s.Vars {
		v := &s.Vars[i]
		if shape := s.ShapeOf(v.Dims, v.Record); len(shape) == 0 || dataset.Product(shape) < int64(max(ranks, 2)) || v.Type.Size() == 1 {
			continue
		}
		dims := v.Dims
		if v.Record {
			dims = dims[1:]
		}
		for d := range s.Decomps {
			if fmt.Sprint(s.Decomps[d]) == fmt.Sprint(dims) {
				v.Decomp = dataset.DecompID(d + 1)
			}
		}
		if v.Decomp == 0 {
			v.Decomp = s.Decomp(dims...)
			maps = append(maps, decomp.Regular(s.DecompDims(v.Decomp), ranks))
		}
	}
	return maps, ranks, s.Err
}

// assignMaps gives each variable the map that the options request, otherwise the first map of its shape.
func (c *conversion) assignMaps(s *dataset.Schema, ranks int) error {
	choice := make([]int, len(s.Vars))
	for i := range s.Vars {
		v := &s.Vars[i]
		if c.o.MapOf != nil {
			choice[i] = c.o.MapOf(v)
			continue
		}
		for k, m := range c.o.Maps {
			if fmt.Sprint(s.ShapeOf(v.Dims, v.Record)) == fmt.Sprint(m.Dims()) {
				choice[i] = k + 1
				break
			}
		}
	}
	for k, m := range c.o.Maps {
		if m.Ranks() != ranks {
			return fault.Usage("convert: map %d is for %d ranks, but map 1 is for %d", k+1, m.Ranks(), ranks)
		}
		at := -1
		for i, n := range choice {
			if n == k+1 {
				at = i
				break
			}
		}
		if at < 0 {
			return fault.Usage("convert: no variable has the shape %v of map %d", m.Dims(), k+1)
		}
		dims := s.Vars[at].Dims
		if s.Vars[at].Record {
			dims = dims[1:]
		}
		s.Decomp(dims...)
	}
	for i := range s.Vars {
		v := &s.Vars[i]
		if k := choice[i]; k != 0 {
			if k < 0 || k > len(c.o.Maps) {
				return fault.Usage("convert: variable %q has map %d, want 1..%d", v.Name, k, len(c.o.Maps))
			}
			if got, want := s.ShapeOf(v.Dims, v.Record), c.o.Maps[k-1].Dims(); fmt.Sprint(got) != fmt.Sprint(want) {
				return fault.Usage("convert: variable %q has shape %v, but map %d has %v", v.Name, got, k, want)
			}
			v.Decomp = dataset.DecompID(k)
		}
	}
	return s.Err
}

// keepsAll checks that the maps of the output own every element of the source, because elements without an owner would be
// lost.
func (c *conversion) keepsAll(ctx context.Context, maps []*decomp.Map) error {
	if c.o.DropUncovered || len(c.o.Maps) == 0 && len(c.R.Data.Families) == 1 {
		return nil
	}
	for _, f := range c.R.Data.Families {
		if err := c.keepsAllOf(ctx, f.Home, maps); err != nil {
			return err
		}
	}
	return nil
}

// keepsAllOf is keepsAll for the elements of one set.
func (c *conversion) keepsAllOf(ctx context.Context, s *read.Set, maps []*decomp.Map) error {
	checked := map[[2]dataset.DecompID]bool{}
	for i := range c.Schema.Vars {
		v, src := &c.Schema.Vars[i], c.R.Data.Schema.Vars[c.Src[i]].Decomp
		if key := [2]dataset.DecompID{v.Decomp, src}; v.Decomp == 0 || checked[key] || !v.Record && s != c.R.Data.Sets[0] {
			continue
		} else {
			checked[key] = true
		}
		ix, err := maps[v.Decomp-1].Index()
		if err != nil {
			return err
		}
		var from *decomp.Index // nil if the source has every element
		if src != 0 {
			if from, err = c.R.Maps.Index(ctx, s, src); err != nil {
				return err
			}
		}
		lost, first := int64(0), int64(-1)
		gap := func(lo, hi int64) {
			if from == nil && lo < hi {
				if lost += hi - lo; first < 0 {
					first = lo
				}
				return
			}
			for off, n := range c.RunsOf(dataset.VarID(i), lo, hi) {
				for o := range from.Range(off, off+n) {
					if lost += o.Len; first < 0 {
						first = o.Off
					}
				}
			}
		}
		at := int64(0)
		for o := range ix.Range(0, maps[v.Decomp-1].Elems()) {
			if o.Off > at {
				gap(at, o.Off)
			}
			at = o.Off + o.Len
		}
		if n := maps[v.Decomp-1].Elems(); at < n {
			gap(at, n)
		}
		if lost > 0 {
			return fault.Usage("convert: map %d lacks %d elements of variable %q, the first is %d; ConvertOptions.DropUncovered drops them", v.Decomp, lost, v.Name, first)
		}
	}
	return nil
}
