package cdf5

import "slices"

// cover knows which elements of a file have been written: for each variable a
// sorted list of disjoint, not adjacent ranges of element numbers (record
// times elements of a record, plus the element).
type cover struct {
	vars  [][]elemRange
	total int
}

type elemRange struct{ lo, hi int64 }

// Caps on the ranges of one variable and of all: 64 KiB and 4 MiB. At the cap
// the gaps are filled in the file at once (later writes go over the fill).
const (
	maxRangesVar = 4 << 10
	maxRanges    = 256 << 10
)

func newCover(n int) *cover { return &cover{vars: make([][]elemRange, n)} }

// add notes [lo, hi) of variable v.
func (c *cover) add(v int, lo, hi int64) {
	list := c.vars[v]
	i, j := c.touching(v, lo, hi)
	if i < j {
		lo, hi = min(lo, list[i].lo), max(hi, list[j-1].hi)
	}
	c.vars[v] = slices.Replace(list, i, j, elemRange{lo, hi})
	c.total += 1 - (j - i)
}

// touching returns the indices [i, j) of the ranges that [lo, hi) overlaps or
// touches.
func (c *cover) touching(v int, lo, hi int64) (i, j int) {
	list := c.vars[v]
	if n := len(list); n > 0 && lo > list[n-1].hi { // writing in order
		return n, n
	}
	i, _ = slices.BinarySearchFunc(list, lo, func(r elemRange, x int64) int {
		if r.hi < x {
			return -1
		}
		return 1
	})
	for j = i; j < len(list) && list[j].lo <= hi; j++ {
	}
	return i, j
}

// full tells whether variable v must be filled before it takes more ranges.
func (c *cover) full(v int) bool {
	return len(c.vars[v]) >= maxRangesVar || c.total >= maxRanges && len(c.vars[v]) > 1
}

// gaps calls f with the parts of [lo, hi) that are not covered.
func (c *cover) gaps(v int, lo, hi int64, f func(lo, hi int64) error) error {
	i, j := c.touching(v, lo, hi)
	for _, r := range c.vars[v][i:j] {
		if r.lo > lo {
			if err := f(lo, min(r.lo, hi)); err != nil {
				return err
			}
		}
		lo = max(lo, r.hi)
	}
	if lo < hi {
		return f(lo, hi)
	}
	return nil
}
