package decomp

import "sort"

// Scatter copies elements from a rank's blob to their places in the canonical
// array. dst holds the canonical elements [lo, lo+len(dst)/width), src the
// elements [pos, pos+len(src)/width) of the rank's blob; width is the size of
// an element in bytes. What is in both is copied, other bytes of dst are left
// alone. Where requests of the rank overlap, the later one in map order wins.
// A width < 1 copies nothing.
func (m *Map) Scatter(dst []byte, lo int64, src []byte, pos int64, rank, width int) {
	m.move(dst, lo, src, pos, rank, width, true)
}

// Gather is the reverse of Scatter: it copies from src, which holds the
// canonical elements [lo, lo+len(src)/width), to dst, which holds the elements
// [pos, pos+len(dst)/width) of the rank's blob.
func (m *Map) Gather(dst []byte, pos int64, src []byte, lo int64, rank, width int) {
	m.move(src, lo, dst, pos, rank, width, false)
}

func (m *Map) move(canon []byte, lo int64, blob []byte, pos int64, rank, width int, scatter bool) {
	if width < 1 {
		return
	}
	k := m.rank(rank)
	w := int64(width)
	hi, pend := lo+int64(len(canon))/w, pos+int64(len(blob))/w
	if lo >= hi || pos >= pend || hi <= k.lo || lo >= k.hi {
		return
	}
	blocks := m.blocks(k)
	// blob positions ascend from block to block, canonical offsets only if sorted
	i := 0
	if pos > 0 {
		i = sort.Search(len(blocks), func(i int) bool { return blocks[i].blobEnd() > pos })
	}
	if k.sorted && lo > k.lo {
		i = max(i, sort.Search(len(blocks), func(i int) bool { return blocks[i].stop() > lo }))
	}
	for ; i < len(blocks); i++ {
		b := &blocks[i]
		if b.pos >= pend || k.sorted && b.start() >= hi {
			return
		}
		c0, c1 := b.repsIn(lo, hi)
		p0, p1 := b.repsAt(pos, pend)
		r0, r1 := max(c0, p0), min(c1, p1)
		if r0 >= r1 {
			continue
		}
		// [f0, f1) are the repetitions that are whole in both windows
		f0, f1 := r0, r1
		for f0 < f1 && !b.whole(f0, lo, hi, pos, pend) {
			f0++
		}
		for f1 > f0 && !b.whole(f1-1, lo, hi, pos, pend) {
			f1--
		}
		for r := r0; r < f0; r++ {
			m.store.movePart(b, r, canon, lo, hi, blob, pos, pend, w, scatter)
		}
		if f0 < f1 {
			rel, end := m.store.pattern(b)
			o, p := b.base+f0*b.stride-lo, b.pos+f0*b.elems-pos
			t := tile{rel: rel, end: end, reps: int(f1 - f0), lead: int(-b.lo), stride: int(b.stride), elems: int(b.elems),
				ordered: b.sorted && (f1-f0 == 1 || b.hi <= b.stride)}
			t.move(canon[(o+b.lo)*w:], blob[p*w:], width, scatter)
		}
		for r := f1; r < r1; r++ {
			m.store.movePart(b, r, canon, lo, hi, blob, pos, pend, w, scatter)
		}
	}
}

// whole reports whether repetition r lies inside canonical [lo, hi) and blob [pos, pend).
func (b *block) whole(r, lo, hi, pos, pend int64) bool {
	o, p := b.base+r*b.stride, b.pos+r*b.elems
	return o+b.lo >= lo && o+b.hi <= hi && p >= pos && p+b.elems <= pend
}

// movePart moves those elements of repetition r that are in both windows.
func (s *store) movePart(b *block, r int64, canon []byte, lo, hi int64, blob []byte, pos, pend, w int64, scatter bool) {
	s.clipRep(b, b.base+r*b.stride, b.pos+r*b.elems, lo, hi, func(c Piece) bool {
		if c.Pos >= pend {
			return false
		}
		if d := pos - c.Pos; d > 0 {
			c.Off, c.Pos, c.Len = c.Off+d, pos, c.Len-d
		}
		n := min(c.Len, pend-c.Pos)
		if n > 0 {
			cs, bs := canon[(c.Off-lo)*w:(c.Off-lo+n)*w], blob[(c.Pos-pos)*w:(c.Pos-pos+n)*w]
			if scatter {
				copy(cs, bs)
			} else {
				copy(bs, cs)
			}
		}
		return true
	})
}
