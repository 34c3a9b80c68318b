package decomp

import (
	"iter"
	"sort"
)

// Clip iterates over the parts of a rank's requests inside canonical [lo, hi), in map order, without empty parts. For a sorted
// rank the cost grows with the number of parts found. For any rank, repetitions outside [lo, hi) are skipped.
func (m *Map) Clip(rank int, lo, hi int64) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		k := m.rank(rank)
		if lo >= hi || hi <= k.lo || lo >= k.hi {
			return
		}
		blocks := m.blocks(k)
		if k.sorted {
			blocks = blocks[sort.Search(len(blocks), func(i int) bool { return blocks[i].stop() > lo }):]
		}
		for i := range blocks {
			b := &blocks[i]
			if k.sorted && b.start() >= hi {
				return
			}
			r0, r1 := b.repsIn(lo, hi)
			for r := r0; r < r1; r++ {
				if !m.store.clipRep(b, b.base+r*b.stride, b.pos+r*b.elems, lo, hi, yield) {
					return
				}
			}
		}
	}
}

// Positions returns the smallest range of positions in a rank's blob that contains all elements of the rank in canonical [lo,
// hi). If the rank has no such element, from >= to. For a sorted rank the cost does not depend on the number of elements.
func (m *Map) Positions(rank int, lo, hi int64) (from, to int64) {
	k := m.rank(rank)
	switch {
	case lo >= hi || hi <= k.lo || lo >= k.hi:
		return 0, 0
	case lo <= k.lo && k.hi <= hi:
		return 0, k.count
	case k.sorted:
		return m.before(k, lo), m.before(k, hi)
	}
	first := true
	for c := range m.Clip(rank, lo, hi) {
		if first {
			from, to, first = c.Pos, c.Pos+c.Len, false
			continue
		}
		from, to = min(from, c.Pos), max(to, c.Pos+c.Len)
	}
	return from, to
}

// before returns the number of elements of a sorted rank before canonical off.
func (m *Map) before(k *rank, off int64) int64 {
	blocks := m.blocks(k)
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].stop() > off })
	if i == len(blocks) {
		return k.count
	}
	b := &blocks[i]
	if off <= b.base {
		return b.pos
	}
	r := int64(0)
	if b.count > 1 {
		r = min((off-b.base)/b.stride, b.count-1)
	}
	pos, d := b.pos+r*b.elems, off-b.base-r*b.stride // d is the offset into repetition r
	if b.n == 1 {
		return pos + min(d, b.elems)
	}
	rel, end := m.store.pattern(b)
	j := firstEndingAfter(rel, end, d)
	if j > 0 {
		pos += int64(end[j-1])
	}
	if j < len(rel) {
		pos += max(d-int64(rel[j]), 0)
	}
	return pos
}

// clipRep yields the parts of one repetition inside [lo, hi). The repetition is at canonical offset o and blob position p.
func (s *store) clipRep(b *block, o, p, lo, hi int64, yield func(Piece) bool) bool {
	if b.n == 1 {
		from, to := max(o, lo), min(o+b.elems, hi)
		return from >= to || yield(Piece{from, p + from - o, to - from})
	}
	rel, end := s.pattern(b)
	i := 0
	if b.sorted && o < lo {
		i = firstEndingAfter(rel, end, lo-o)
	}
	prev := int32(0)
	if i > 0 {
		prev = end[i-1]
	}
	for ; i < len(rel); i++ {
		start := o + int64(rel[i])
		at := int64(prev)
		n := int64(end[i]) - at
		prev = end[i]
		if start >= hi {
			if b.sorted {
				return true
			}
			continue
		}
		from, to := max(start, lo), min(start+n, hi)
		if from < to && !yield(Piece{from, p + at + from - start, to - from}) {
			return false
		}
	}
	return true
}

// firstEndingAfter returns the first run of a sorted pattern whose end exceeds the relative offset d.
func firstEndingAfter(rel, end []int32, d int64) int {
	return sort.Search(len(rel), func(i int) bool {
		n := int64(end[i])
		if i > 0 {
			n -= int64(end[i-1])
		}
		return int64(rel[i])+n > d
	})
}
