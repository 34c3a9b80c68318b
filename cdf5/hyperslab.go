package cdf5

import "math"

// slab is a hyperslab of one variable in file bytes: runs of n elements that
// are step bytes apart, one run for each position of the outer axes. Axes that
// are contiguous in the file (rows taken whole, records of a lone record
// variable) are one axis here.
type slab struct {
	base  int64 // file offset of the first element
	n     int64 // elements of a run, > 0 unless the slab is empty
	step  int64 // bytes from one element of a run to the next
	size  int64 // bytes of an element
	elems int64 // elements of the slab
	outer []axis
}

type axis struct{ count, stride int64 } // stride in bytes

// geometry is what a hyperslab needs to know of a variable.
type geometry struct {
	name  string
	begin int64
	size  int64   // bytes of an element
	lens  []int64 // of all dimensions; the first is the number of records of a record variable
	first int64   // bytes from one index of the first dimension to the next
}

func (h *Header) geometry(v int, p *Places, numRecs int64) geometry {
	g := geometry{name: h.Vars[v].Name, begin: h.Vars[v].Begin, size: int64(h.Vars[v].Type.Size())}
	shape := h.Shape(v)
	g.first = g.size
	if h.IsRecord(v) {
		g.lens = append(append(make([]int64, 0, 1+len(shape)), numRecs), shape...)
		g.first = p.recSize
		return g
	}
	g.lens = shape
	for i := 1; i < len(shape); i++ {
		g.first *= shape[i]
	}
	return g
}

// slab checks a request and returns it in file bytes. nil start is 0s, nil
// stride 1s, and nil count all that remains.
func (g *geometry) slab(start, count, stride []int64) (*slab, error) {
	rank := len(g.lens)
	for _, a := range []struct {
		name string
		v    []int64
	}{{"start", start}, {"count", count}, {"stride", stride}} {
		if a.v != nil && len(a.v) != rank {
			return nil, usagef("var %q: %s has %d numbers, the variable %d dimensions", g.name, a.name, len(a.v), rank)
		}
	}
	s := &slab{base: g.begin, n: 1, step: g.size, size: g.size, elems: 1}
	axes := make([]axis, 0, rank)
	width := int64(0) // bytes from one index of dimension i to the next
	for i := rank - 1; i >= 0; i-- {
		switch {
		case i == 0:
			width = g.first
		case i == rank-1:
			width = g.size
		default:
			width *= g.lens[i+1]
		}
		first, step := int64(0), int64(1)
		if start != nil {
			first = start[i]
		}
		if stride != nil {
			step = stride[i]
		}
		if first < 0 || first > g.lens[i] {
			return nil, usagef("var %q: start[%d] %d, want 0 to %d", g.name, i, first, g.lens[i])
		}
		if step < 1 {
			return nil, usagef("var %q: stride[%d] %d, want >= 1", g.name, i, step)
		}
		most := int64(0)
		if first < g.lens[i] {
			most = (g.lens[i]-first-1)/step + 1
		}
		n := most
		if count != nil {
			n = count[i]
		}
		if n < 0 || n > most {
			return nil, usagef("var %q: count[%d] %d from %d by %d, want <= %d (length %d)", g.name, i, n, first, step, most, g.lens[i])
		}
		s.elems *= n
		s.base += first * width
		if n > 1 {
			axes = append(axes, axis{n, step * width})
		}
	}
	if s.elems == 0 {
		s.n = 0
		return s, nil
	}
	s.setAxes(axes)
	return s, nil
}

// setAxes merges what is contiguous; axes come fastest first.
func (s *slab) setAxes(axes []axis) {
	merged := axes[:0]
	for _, a := range axes {
		if k := len(merged) - 1; k >= 0 && a.stride == merged[k].count*merged[k].stride {
			merged[k].count *= a.count
			continue
		}
		merged = append(merged, a)
	}
	if len(merged) > 0 {
		s.n, s.step = merged[0].count, merged[0].stride
		s.outer = merged[1:]
	}
}

// runs calls f with the file offset of each run, in ascending order, until f
// returns an error.
func (s *slab) runs(f func(off int64) error) error {
	if s.n == 0 {
		return nil
	}
	index := make([]int64, len(s.outer))
	off := s.base
	for {
		if err := f(off); err != nil {
			return err
		}
		k := 0
		for ; k < len(index); k++ {
			a := s.outer[k]
			index[k]++
			off += a.stride
			if index[k] < a.count {
				break
			}
			off -= a.count * a.stride
			index[k] = 0
		}
		if k == len(index) {
			return nil
		}
	}
}

// span returns the bytes from the first to the end of the last element.
func (s *slab) span() int64 {
	if s.n == 0 {
		return 0
	}
	n := (s.n-1)*s.step + s.size
	for _, a := range s.outer {
		n += (a.count - 1) * a.stride
	}
	return n
}

// memLen checks that a memory slice holds exactly the elements of the slab.
func (s *slab) memLen(name string, have int) error {
	if s.elems > math.MaxInt || int64(have) != s.elems {
		return usagef("var %q: a slice of %d elements for %d", name, have, s.elems)
	}
	return nil
}
