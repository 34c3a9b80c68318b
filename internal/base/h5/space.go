package h5

import "blobio/internal/base/fault"

// Unlimited is the maximum of a dimension that can grow without bound.
const Unlimited int64 = -1

// space is a dataspace: the shape of a dataset or attribute.
type space struct {
	null bool    // no elements and no shape
	dims []int64 // empty: scalar
	max  []int64 // nil: same as dims; Unlimited where a dimension has no bound
}

// decodeSpace decodes a dataspace message, version 1 or 2.
func (c *cursor) decodeSpace() space {
	var s space
	at := c.pos()
	version := c.u8("dataspace version")
	rank := c.u8("dataspace rank")
	flags := c.u8("dataspace flags")
	switch {
	case c.err != nil:
		return s
	case rank > maxRank:
		c.fail(at+1, "dataspace rank", fault.ErrCorrupt, "%d, want at most %d", rank, maxRank)
	case version == 1:
		c.skip(5, "dataspace reserved")
		if flags&2 != 0 {
			c.fail(at+2, "dataspace flags", fault.ErrUnsupported, "permutation indices")
		}
	case version == 2:
		switch kind := c.u8("dataspace type"); {
		case kind == 2:
			s.null = true
		case kind > 2:
			c.fail(at+3, "dataspace type", fault.ErrCorrupt, "%d, want 0 to 2", kind)
		case kind == 0 && rank != 0:
			c.fail(at+1, "dataspace rank", fault.ErrCorrupt, "%d in a scalar dataspace, want 0", rank)
		}
	default:
		c.fail(at, "dataspace version", fault.ErrUnsupported, "%d, want 1 or 2", version)
	}
	if c.err != nil || rank == 0 {
		return s
	}
	s.dims = make([]int64, rank)
	for i := range s.dims {
		s.dims[i] = c.length("dimension size")
	}
	if flags&1 != 0 {
		s.max = make([]int64, rank)
		for i := range s.max {
			p := c.pos()
			v := c.uvar(c.f.lenSize, "maximum dimension size")
			switch {
			case v == 1<<(8*c.f.lenSize)-1:
				s.max[i] = Unlimited
			case v > 1<<63-1 || int64(v) < s.dims[i]:
				c.fail(p, "maximum dimension size", fault.ErrCorrupt, "%d, want at least %d", v, s.dims[i])
			default:
				s.max[i] = int64(v)
			}
		}
	}
	if _, ok := elems(s.dims); !ok {
		c.fail(at, "dataspace", fault.ErrCorrupt, "%v elements, want fewer than 2^63", s.dims)
	}
	return s
}

// count returns the number of elements; decodeSpace saw that it fits.
func (s *space) count() int64 {
	if s.null {
		return 0
	}
	n, _ := elems(s.dims)
	return n
}

// elems multiplies dims; false if a size is negative or the product does not
// fit int64. No dims: 1.
func elems(dims []int64) (int64, bool) {
	n := int64(1)
	for _, d := range dims {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			n = 0
		}
	}
	for _, d := range dims {
		if n > 0 && n > (1<<63-1)/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}
