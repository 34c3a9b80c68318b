package decomp

import "sort"

// Scatter copies elements from a rank's blob to the canonical array. dst has the canonical elements [lo, lo+len(dst)/width). src
// has the elements [pos, pos+len(src)/width) of the rank's blob. width is the size of an element in bytes. Scatter copies the
// elements that are in both and leaves other bytes of dst unchanged. If requests of the rank overlap, the last in map order wins.
// With width < 1 it copies nothing.
func (m *Map) Scatter(dst []byte, lo int64, src []byte, pos int64, rank, width int) {
	t := transfer{canon: dst, lo: lo, blob: src, pos: pos, width: width, scatter: true}
	t.run(m, rank)
}

// Gather is the reverse of Scatter. src has the canonical elements [lo, lo+len(src)/width). dst has the elements [pos,
// pos+len(dst)/width) of the rank's blob.
func (m *Map) Gather(dst []byte, pos int64, src []byte, lo int64, rank, width int) {
	t := transfer{canon: src, lo: lo, blob: dst, pos: pos, width: width}
	t.run(m, rank)
}

// transfer moves elements between two windows: canonical elements and elements of a rank's blob.
type transfer struct {
	canon    []byte // elements [lo, hi) of the array
	lo, hi   int64
	blob     []byte // elements [pos, end) of the blob
	pos, end int64
	width    int
	scatter  bool // true: copy to canon; false: copy to blob
}

func (t *transfer) run(m *Map, rank int) {
	if t.width < 1 {
		return
	}
	k := m.rank(rank)
	w := int64(t.width)
	t.hi, t.end = t.lo+int64(len(t.canon))/w, t.pos+int64(len(t.blob))/w
	if t.lo >= t.hi || t.pos >= t.end || t.hi <= k.lo || t.lo >= k.hi {
		return
	}
	blocks := m.blocks(k)
	// blob positions ascend from block to block, canonical offsets only if sorted
	i := 0
	if t.pos > 0 {
		i = sort.Search(len(blocks), func(i int) bool { return blocks[i].blobEnd() > t.pos })
	}
	if k.sorted && t.lo > k.lo {
		i = max(i, sort.Search(len(blocks), func(i int) bool { return blocks[i].stop() > t.lo }))
	}
	for ; i < len(blocks); i++ {
		b := &blocks[i]
		if b.pos >= t.end || k.sorted && b.start() >= t.hi {
			return
		}
		t.block(m.store, b)
	}
}

// block moves the elements of a block that are in both windows.
func (t *transfer) block(s *store, b *block) {
	c0, c1 := b.repsIn(t.lo, t.hi)
	p0, p1 := b.repsAt(t.pos, t.end)
	r0, r1 := max(c0, p0), min(c1, p1)
	if r0 >= r1 {
		return
	}
	// [f0, f1) are the repetitions that are whole in both windows
	f0, f1 := r0, r1
	for f0 < f1 && !t.holds(b, f0) {
		f0++
	}
	for f1 > f0 && !t.holds(b, f1-1) {
		f1--
	}
	for r := r0; r < f0; r++ {
		t.part(s, b, r)
	}
	if f0 < f1 {
		w := int64(t.width)
		rel, end := s.pattern(b)
		o, p := b.base+f0*b.stride-t.lo, b.pos+f0*b.elems-t.pos
		whole := tile{rel: rel, end: end, reps: int(f1 - f0), lead: int(-b.lo), stride: int(b.stride), elems: int(b.elems),
			ordered: b.sorted && (f1-f0 == 1 || b.hi <= b.stride)}
		whole.move(t.canon[(o+b.lo)*w:], t.blob[p*w:], t.width, t.scatter)
	}
	for r := f1; r < r1; r++ {
		t.part(s, b, r)
	}
}

// holds reports whether repetition r of a block is inside both windows.
func (t *transfer) holds(b *block, r int64) bool {
	o, p := b.base+r*b.stride, b.pos+r*b.elems
	return o+b.lo >= t.lo && o+b.hi <= t.hi && p >= t.pos && p+b.elems <= t.end
}

// part moves the elements of repetition r of a block that are in both windows.
func (t *transfer) part(s *store, b *block, r int64) {
	w := int64(t.width)
	s.clipRep(b, b.base+r*b.stride, b.pos+r*b.elems, t.lo, t.hi, func(c Piece) bool {
		if c.Pos >= t.end {
			return false
		}
		if d := t.pos - c.Pos; d > 0 {
			c.Off, c.Pos, c.Len = c.Off+d, t.pos, c.Len-d
		}
		if n := min(c.Len, t.end-c.Pos); n > 0 {
			canon, blob := t.canon[(c.Off-t.lo)*w:(c.Off-t.lo+n)*w], t.blob[(c.Pos-t.pos)*w:(c.Pos-t.pos+n)*w]
			if t.scatter {
				copy(canon, blob)
			} else {
				copy(blob, canon)
			}
		}
		return true
	})
}
