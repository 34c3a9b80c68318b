package decomp

import (
	"iter"
	"math"
)

// An Index is the inverse of a Map: it finds the owner of an element. It is immutable and safe for concurrent use. If several
// requests contain an element, the highest rank owns it and, within the rank, the last request in map order. So the owner is the
// last writer when all blobs are scattered in rank order.
//
// Repetitions are not expanded. All blocks with the same count and stride that fit side by side into one stride form a class,
// which is searched like one repetition. The F case's D3 is one class with as many segments as D2.
type Index struct {
	elems   int64
	sources []source
	lanes   []lane
}

// A source is a block, or one repetition of a block. Segments come from sources.
type source struct {
	pos  int64 // blob position of repetition 0
	step int64 // blob elements between repetitions
	rank int32
}

// A segment is a run of elements in repetition 0 of a class, with one owner.
type segment struct {
	off   int64 // canonical offset
	len   int32
	pos   int32 // blob position, relative to the source
	src   int32
	other int32 // rank of another owner, or -1
}

// A class is a repeated list of disjoint, ascending segments.
type class struct {
	count, stride int64
	start, stop   int64 // range of all repetitions: [start, stop)
	width         int64 // range of repetition 0: [start, start+width); <= stride if count > 1
	segs          []segment
}

// A lane is a list of classes with disjoint, ascending ranges.
type lane []class

// An Owned is a run of elements with one owner: elements [Off, Off+Len) of the canonical array are elements [Pos, Pos+Len) of the
// blob of Rank.
type Owned struct {
	Off, Len int64
	Rank     int
	Pos      int64
}

// Range iterates over the owners of canonical [lo, hi), by ascending offset. It omits elements without an owner. Adjacent runs
// may have the same owner.
func (ix *Index) Range(lo, hi int64) iter.Seq[Owned] {
	return func(yield func(Owned) bool) {
		if len(ix.lanes) == 1 {
			ix.lane0(max(lo, 0), min(hi, ix.elems), yield)
			return
		}
		ix.walk(lo, hi, func(o *owned) bool { return yield(o.Owned) })
	}
}

// At returns the owner of one element. Len is the number of elements from off that Range would yield as one run.
func (ix *Index) At(off int64) (Owned, bool) {
	var best owned
	found := false
	ix.walk(off, min(off, math.MaxInt64-1)+1, func(o *owned) bool {
		best, found = *o, true
		return false
	})
	return best.Owned, found
}

// owned is an Owned with data for the coverage.
type owned struct {
	Owned
	other int // rank of another owner, or -1
}

// walk yields disjoint runs in [lo, hi) by ascending offset.
func (ix *Index) walk(lo, hi int64, yield func(*owned) bool) {
	lo, hi = max(lo, 0), min(hi, ix.elems)
	if lo >= hi {
		return
	}
	var heads []cursor
	for _, l := range ix.lanes {
		c := cursor{lane: l, sources: ix.sources, hi: hi}
		if c.seek(lo) {
			heads = append(heads, c)
		}
	}
	for len(heads) > 1 {
		// the first run, or the winner of the runs that start first
		x := heads[0].cur.Off
		for i := range heads[1:] {
			x = min(x, heads[i+1].cur.Off)
		}
		win := -1
		end := int64(math.MaxInt64)
		other := -1
		for i := range heads {
			c := &heads[i].cur
			if c.Off > x {
				end = min(end, c.Off)
				continue
			}
			end = min(end, c.Off+c.Len)
			switch {
			case win < 0:
				win = i
			case beats(c, &heads[win].cur):
				other = heads[win].cur.Rank
				win = i
			default:
				other = c.Rank
			}
		}
		o := heads[win].cur
		o.Len = end - x
		if o.other < 0 {
			o.other = other
		}
		if !yield(&o) {
			return
		}
		for i := 0; i < len(heads); {
			if !heads[i].trim(end) {
				heads = append(heads[:i], heads[i+1:]...)
				continue
			}
			i++
		}
	}
	if len(heads) == 1 {
		c := &heads[0]
		for yield(&c.cur) && c.next() {
		}
	}
}

// lane0 does the same as walk, but only for an index of one lane, which is the usual case.
func (ix *Index) lane0(lo, hi int64, yield func(Owned) bool) {
	c := cursor{lane: ix.lanes[0], sources: ix.sources, hi: hi}
	if lo >= hi || !c.seek(lo) || !yield(c.cur.Owned) {
		return
	}
	for seg, rep := c.seg+1, c.rep; len(c.lane) > 0; c.lane = c.lane[1:] {
		k := &c.lane[0]
		for ; rep < k.count; rep++ {
			shift := rep * k.stride
			for i := range k.segs[seg:] {
				s := &k.segs[seg+i]
				o := s.off + shift
				if o >= hi {
					return
				}
				src := &ix.sources[s.src]
				if !yield(Owned{o, min(int64(s.len), hi-o), int(src.rank), src.pos + int64(s.pos) + rep*src.step}) {
					return
				}
			}
			seg = 0
		}
		rep = 0
	}
}

// beats reports whether a owns elements that both a and b contain.
func beats(a, b *owned) bool {
	return a.Rank > b.Rank || a.Rank == b.Rank && a.Pos > b.Pos
}
