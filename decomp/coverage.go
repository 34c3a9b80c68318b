package decomp

// A Coverage counts covered elements of a map's array.
type Coverage struct {
	Elems      int64 // elements of the array
	Covered    int64 // elements in at least one request
	Uncovered  int64 // elements in no request
	Overlapped int64 // elements in several requests, of one or more ranks

	Gaps     []Gap     // the first runs of uncovered elements, at most 8
	Overlaps []Overlap // the first runs of overlapped elements, at most 8
}

// maxExamples is the maximum number of gaps and of overlaps in a Coverage.
const maxExamples = 8

// A Gap is a run of elements that no rank owns.
type Gap struct {
	Off, Len int64
	Before   int // rank that owns the element before the gap, or -1
	After    int // rank that owns the element after the gap, or -1
}

// An Overlap is a run of elements in several requests. Rank is the owner by the rule of Index. Other is the rank that comes
// next by this rule; it may equal Rank.
type Overlap struct {
	Off, Len    int64
	Rank, Other int
}

// Full reports whether each element has exactly one owner.
func (c *Coverage) Full() bool { return c.Uncovered == 0 && c.Overlapped == 0 }

// Coverage counts covered, uncovered and overlapped elements. A caller that already has an Index should call
// Index.Coverage, because this method makes an Index.
func (m *Map) Coverage() (Coverage, error) {
	ix, err := m.Index()
	if err != nil {
		return Coverage{}, err
	}
	return ix.Coverage(), nil
}

// Shared returns the number of elements that several ranks own, from the map's coverage and its repeated elements.
func (m *Map) Shared(c *Coverage, again Repeats) int64 {
	return max(0, min(c.Overlapped, m.total-again.Again-c.Covered))
}

// Coverage counts covered, uncovered and overlapped elements of the map.
func (ix *Index) Coverage() Coverage {
	c := Coverage{Elems: ix.elems}
	if len(ix.lanes) == 1 {
		// the repetitions of a class do not overlap, so multiply by their count
		for _, k := range ix.lanes[0] {
			for i := range k.segs {
				n := k.count * int64(k.segs[i].len)
				c.Covered += n
				if k.segs[i].other >= 0 {
					c.Overlapped += n
				}
			}
		}
	} else {
		ix.walk(0, ix.elems, func(o *owned) bool {
			c.Covered += o.Len
			if o.other >= 0 {
				c.Overlapped += o.Len
			}
			return true
		})
	}
	c.Uncovered = c.Elems - c.Covered
	ix.examples(&c)
	return c
}

// examples finds the first gaps and overlaps.
func (ix *Index) examples(c *Coverage) {
	gaps, overlaps := c.Uncovered, c.Overlapped // numbers of elements not found yet
	next, before := int64(0), -1
	if gaps == 0 && overlaps == 0 {
		return
	}
	ix.walk(0, ix.elems, func(o *owned) bool {
		if o.Off > next {
			gaps -= o.Off - next
			c.addGap(Gap{next, o.Off - next, before, o.Rank})
		}
		next, before = o.Off+o.Len, o.Rank
		if o.other >= 0 {
			overlaps -= o.Len
			c.addOverlap(Overlap{o.Off, o.Len, o.Rank, o.other})
		}
		return gaps > 0 && len(c.Gaps) < maxExamples || overlaps > 0 && len(c.Overlaps) < maxExamples
	})
	// the array may end with a gap, which walk does not yield
	if len(c.Gaps) < maxExamples && gaps > 0 && next < c.Elems {
		c.addGap(Gap{next, c.Elems - next, before, -1})
	}
}

func (c *Coverage) addGap(g Gap) {
	if len(c.Gaps) < maxExamples {
		c.Gaps = append(c.Gaps, g)
	}
}

func (c *Coverage) addOverlap(o Overlap) {
	if n := len(c.Overlaps) - 1; n >= 0 {
		if l := &c.Overlaps[n]; l.Off+l.Len == o.Off && l.Rank == o.Rank && l.Other == o.Other {
			l.Len += o.Len
			return
		}
	}
	if len(c.Overlaps) < maxExamples {
		c.Overlaps = append(c.Overlaps, o)
	}
}
