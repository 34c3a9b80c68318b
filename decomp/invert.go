package decomp

import (
	"blobio/internal/base/fault"
	"cmp"
	"math"
	"slices"
)

// maxLanes limits the number of lanes, because a query searches each lane. If there are more lanes, Index expands
// the repetitions of some classes, within a budget.
const maxLanes = 4

// Index inverts the map. The cost is about the cost of sorting the stored runs; repetitions add nothing.
func (m *Map) Index() (*Index, error) {
	v := inverter{m: m, ix: &Index{elems: m.elems}}
	classes, err := v.classes()
	if err != nil {
		return nil, err
	}
	v.ix.lanes = lanes(classes)
	if len(v.ix.lanes) > maxLanes {
		if v.expandSmall(); len(v.expand) > 0 {
			v.ix.sources = nil
			if classes, err = v.classes(); err != nil {
				return nil, err
			}
			v.ix.lanes = lanes(classes)
		}
	}
	return v.ix, nil
}

// kind is the count and stride that blocks of a class share.
type kind struct{ count, stride int64 }

// inverter makes an Index.
type inverter struct {
	m      *Map
	ix     *Index
	groups map[kind][]entry
	expand map[kind]bool // kinds whose blocks are expanded
	runs   int64         // number of stored runs
}

// entry is a block of a rank.
type entry struct {
	b    *block
	rank int32
}

// classes groups the blocks into classes.
func (v *inverter) classes() ([]class, error) {
	m := v.m
	if int64(len(m.ranks)) > math.MaxInt32 {
		return nil, fault.Usage("index of %d ranks, want < 2^31", len(m.ranks))
	}
	v.groups = make(map[kind][]entry)
	v.runs = 0
	var flat []rawRun
	for r := range m.ranks {
		blocks := m.blocks(&m.ranks[r])
		for i := range blocks {
			b := &blocks[i]
			k := kind{b.count, b.stride}
			switch {
			case b.elems == 0:
			case b.count == 1:
				v.runs += int64(b.n)
				flat = v.appendRuns(flat, b, r, 0, 1)
			case b.hi-b.lo > b.stride || v.expand[k]:
				v.runs += int64(b.n)
				for rep := range b.count {
					flat = v.appendRuns(flat, b, r, rep, 1)
				}
			default:
				v.runs += int64(b.n)
				v.groups[k] = append(v.groups[k], entry{b, int32(r)})
			}
		}
	}
	var out []class
	if len(flat) > 0 {
		out = append(out, newClass(kind{1, 0}, v.resolve(flat)))
	}
	flat = flat[:0]
	for k, g := range v.groups {
		slices.SortStableFunc(g, func(a, b entry) int { return cmp.Compare(a.b.start(), b.b.start()) })
		for len(g) > 0 {
			// take as many blocks as fit side by side into one stride
			limit := g[0].b.start() + k.stride
			n := 1
			for n < len(g) && g[n].b.base+g[n].b.hi <= limit {
				n++
			}
			side := g[:n]
			slices.SortStableFunc(side, func(a, b entry) int { // sources are in rank and map order, which decides the winner
				return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.b.pos, b.b.pos))
			})
			flat = flat[:0]
			for _, e := range side {
				flat = v.appendRuns(flat, e.b, int(e.rank), 0, k.count)
			}
			out = append(out, newClass(k, v.resolve(flat)))
			g = g[n:]
		}
	}
	return out, nil
}

func newClass(k kind, segs []segment) class {
	c := class{count: k.count, stride: k.stride, segs: exact(segs), start: segs[0].off}
	last := segs[len(segs)-1]
	c.width = last.off + int64(last.len) - c.start
	c.stop = c.start + c.width + (c.count-1)*c.stride
	return c
}

// rawRun is a run before overlaps are resolved. A later source wins; within a source, the later position wins.
type rawRun struct {
	off      int64
	len, pos int32
	src      int32
}

// appendRuns appends the runs of one repetition of a block, with a new source.
func (v *inverter) appendRuns(dst []rawRun, b *block, rank int, rep, count int64) []rawRun {
	step := int64(0)
	if count > 1 {
		step = b.elems
	}
	o, p := b.base+rep*b.stride, b.pos+rep*b.elems
	if b.n == 1 { // only single runs can exceed 32 bits
		for n := b.elems; n > 0; {
			piece := min(n, maxPattern)
			v.ix.sources = append(v.ix.sources, source{p, step, int32(rank)})
			dst = append(dst, rawRun{off: o, len: int32(piece), src: int32(len(v.ix.sources) - 1)})
			o, p, n = o+piece, p+piece, n-piece
		}
		return dst
	}
	v.ix.sources = append(v.ix.sources, source{p, step, int32(rank)})
	src := int32(len(v.ix.sources) - 1)
	rel, end := v.m.store.pattern(b)
	prev := int32(0)
	for i, d := range rel {
		if n := end[i] - prev; n > 0 {
			dst = append(dst, rawRun{off: o + int64(d), len: n, pos: prev, src: src})
		}
		prev = end[i]
	}
	return dst
}

// expandSmall marks kinds for expansion within the budget. It begins with the kinds that have the fewest
// requests.
func (v *inverter) expandSmall() {
	type size struct {
		k kind
		n int64
	}
	var sizes []size
	for k, g := range v.groups {
		n := int64(0)
		for _, e := range g {
			n += int64(e.b.n)
		}
		if n > math.MaxInt64/k.count {
			continue
		}
		sizes = append(sizes, size{k, n * k.count})
	}
	slices.SortFunc(sizes, func(a, b size) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.k.count, b.k.count), cmp.Compare(a.k.stride, b.k.stride))
	})
	v.expand = make(map[kind]bool)
	budget := max(1<<18, 2*v.runs)
	for _, s := range sizes {
		if budget -= s.n; budget < 0 {
			return
		}
		v.expand[s.k] = true
	}
}

// lanes distributes classes to the fewest lanes.
func lanes(classes []class) []lane {
	slices.SortFunc(classes, func(a, b class) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.stop, b.stop), cmp.Compare(a.count, b.count))
	})
	type end struct {
		stop int64
		lane int
	}
	var out []lane
	var ends []end // ends of the lanes so far, the smallest first
	for _, c := range classes {
		e := end{c.stop, len(out)}
		if len(ends) > 0 && ends[0].stop <= c.start {
			e.lane = ends[0].lane
			ends = ends[1:]
			out[e.lane] = append(out[e.lane], c)
		} else {
			out = append(out, lane{c})
		}
		at, _ := slices.BinarySearchFunc(ends, e, func(a, b end) int { return cmp.Compare(a.stop, b.stop) })
		ends = slices.Insert(ends, at, e)
	}
	return out
}
