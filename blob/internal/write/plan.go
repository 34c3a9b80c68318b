package write

import (
	"cmp"
	"slices"
	"sort"
)

// plan assigns the writes of one flush to the members of a team. All members compute the same plan from shared knowledge: the
// variables and records of the puts, and the size of each rank's part.
type plan struct {
	e      *Engine
	chunks []chunk // data that go through windows, ascending by file offset
	rounds int
	keys   []varRec       // keys of every member, if all members have the same
	own    map[int32]bool // variables whose data each member writes itself; may be nil
	ownAll bool           // each member writes all of its data itself
	least  int64          // minimum mean size for members to write their own data
}

// chunk is a range of the file, in one extent, that goes through one window.
type chunk struct {
	off, n int64
	at     int64 // offset in the extent
	ext    int64 // number of the extent; -1 if run holds several keys of one rank
	run    keyRun
	slot   int // aggregator
	round  int
	woff   int64 // offset in the window
}

// keyRun is a range [from, to) of a plan's keys whose pieces are contiguous in the blob of sub rank i.
type keyRun struct{ i, from, to int }

// newPlan makes the plan for the keys of each member, or for one list if all members have the same keys. The only member of a
// team of one writes everything.
func (e *Engine) newPlan(sets [][]varRec, least int64) *plan {
	p := &plan{e: e, least: least}
	t := e.team
	common := len(sets) == 1
	if t.one() {
		p.ownAll = true
		return p
	}
	if common {
		p.keys = sets[0]
		p.chooseOwn(sets[0])
	}
	striped := e.opt.Stripe.Size > 0
	if p.ownAll && !striped {
		return p
	}
	var segs []chunk
	if common && t.block && !e.Layout.Place.ByRank && !striped {
		segs = p.blockSegs(sets[0])
	} else if common && e.Layout.Place.ByRank && !p.ownAll {
		segs = p.runSegs()
	} else {
		segs = p.pieceSegs(sets)
	}
	if striped {
		p.deal(segs)
	} else {
		p.cut(segs)
	}
	return p
}

// chooseOwn selects the data that each rank writes itself, because they are large enough. If the pieces of all ranks in a
// variable are contiguous, it decides by variable, otherwise by the total of each rank.
func (p *plan) chooseOwn(keys []varRec) {
	e, t := p.e, p.e.team
	n := int64(len(t.members))
	sum := int64(0)
	var undivided []int32 // only sub rank 0 has these
	small := false        // some data go through windows
	for _, k := range keys {
		if k.v < 0 {
			small = true
			continue
		}
		sv := &e.Layout.Schema.Vars[k.v]
		if sv.Decomp == 0 {
			undivided = append(undivided, k.v)
			continue
		}
		size := t.total[sv.Decomp-1] * int64(sv.Type.Size())
		sum += size
		if !e.Layout.Place.ByRank && size/n >= p.least {
			if p.own == nil {
				p.own = map[int32]bool{}
			}
			p.own[k.v] = true
		} else {
			small = true
		}
	}
	if p.own != nil && !small { // undivided variables alone do not justify a round
		for _, v := range undivided {
			p.own[v] = true
		}
	}
	p.ownAll = e.Layout.Place.ByRank && sum/n >= p.least
}

func (p *plan) isOwn(k varRec) bool { return p.ownAll || p.own[k.v] }

// blockSegs lists one file range for each variable's record. All members put these records, and the parts of the members are
// contiguous.
func (p *plan) blockSegs(keys []varRec) []chunk {
	e, t := p.e, p.e.team
	segs := make([]chunk, 0, len(keys))
	for _, k := range keys {
		if p.isOwn(k) {
			continue
		}
		off, n, at := e.Layout.spotOf(t.All, t.members[0], k.v, k.rec)
		if k.v < 0 {
			n *= int64(len(t.members))
		} else if sv := &e.Layout.Schema.Vars[k.v]; sv.Decomp != 0 {
			n = t.total[sv.Decomp-1] * int64(sv.Type.Size())
		}
		if n > 0 {
			segs = append(segs, chunk{off: off, n: n, at: at, ext: e.Layout.extent(&Pend{V: k.v, Rec: k.rec})})
		}
	}
	return segs
}

// runSegs lists one range for each rank and each run of keys that are contiguous in its blob. It skips the keys inside a run,
// because there can be many thousands of pieces.
func (p *plan) runSegs() []chunk {
	e, t := p.e, p.e.team
	var cuts []int // starts of runs
	for k, key := range p.keys {
		if k == 0 || !e.Layout.follows(p.keys[k-1], key) {
			cuts = append(cuts, k)
		}
	}
	cuts = append(cuts, len(p.keys))
	segs := make([]chunk, 0, len(t.members)*len(cuts))
	for _, i := range t.members {
		for c := 1; c < len(cuts); c++ {
			a, b := p.keys[cuts[c-1]], p.keys[cuts[c]-1]
			off, _, _ := e.Layout.spotOf(t.All, i, a.v, a.rec)
			last, n, _ := e.Layout.spotOf(t.All, i, b.v, b.rec)
			if last += n; last > off {
				segs = append(segs, chunk{off: off, n: last - off, ext: -1, run: keyRun{i, cuts[c-1], cuts[c]}})
			}
		}
	}
	return segs
}

// parts calls f for each extent of a chunk, with the range in the extent and the offset in the chunk.
func (p *plan) parts(c *chunk, f func(ext, at, from, to int64)) {
	if c.ext >= 0 {
		f(c.ext, c.at, 0, c.n)
		return
	}
	e := p.e
	keys := p.keys[c.run.from:c.run.to]
	spot := func(k int) (off, n, at int64) { return e.Layout.spotOf(e.team.All, c.run.i, keys[k].v, keys[k].rec) }
	first := sort.Search(len(keys), func(k int) bool { off, n, _ := spot(k); return off+n > c.off })
	for k := first; k < len(keys); k++ {
		off, n, at := spot(k)
		from, to := max(off, c.off), min(off+n, c.off+c.n)
		if off >= c.off+c.n {
			return
		}
		if from < to {
			f(e.Layout.extent(&Pend{V: keys[k].v, Rec: keys[k].rec}), at+from-off, from-c.off, to-c.off)
		}
	}
}

// pieceSegs lists the pieces that go through windows one by one, and joins contiguous pieces.
func (p *plan) pieceSegs(sets [][]varRec) []chunk {
	e, t := p.e, p.e.team
	var segs []chunk
	for m, i := range t.members {
		keys := sets[0]
		if len(sets) > 1 {
			keys = sets[m]
		}
		for _, k := range keys {
			off, n, at := e.Layout.spotOf(t.All, i, k.v, k.rec)
			lo, hi := p.ownRange(i, k, off, n)
			ext := e.Layout.extent(&Pend{V: k.v, Rec: k.rec})
			if lo > off {
				segs = append(segs, chunk{off: off, n: lo - off, at: at, ext: ext})
			}
			if off+n > hi {
				segs = append(segs, chunk{off: hi, n: off + n - hi, at: at + hi - off, ext: ext})
			}
		}
	}
	slices.SortFunc(segs, func(a, b chunk) int { return cmp.Compare(a.off, b.off) })
	out := segs[:0]
	for _, s := range segs {
		if k := len(out) - 1; k >= 0 && out[k].ext == s.ext && out[k].off+out[k].n == s.off && out[k].at+out[k].n == s.at {
			out[k].n += s.n
			continue
		}
		out = append(out, s)
	}
	return out
}

// ownRange returns the part of a piece that its rank writes itself. Without stripes this is the whole piece or nothing. With
// stripes it is the units that lie completely inside this rank's part of the record, or with ByRank inside its blob.
func (p *plan) ownRange(i int, k varRec, off, n int64) (lo, hi int64) {
	e := p.e
	unit := e.opt.Stripe.Size
	switch {
	case !p.isOwn(k):
		return off + n, off + n
	case unit == 0:
		return off, off + n
	}
	from, to := off, off+n
	if e.Layout.Place.ByRank {
		from = e.team.All.Blob[i]
		to = from + e.Layout.Place.Blob.Size(e.team.All, i)
	}
	from, to = (from+unit-1)/unit*unit, to/unit*unit
	lo, hi = max(off, from), min(off+n, to)
	if lo >= hi {
		return off + n, off + n
	}
	return lo, hi
}

// cut fills windows one after the other and assigns them to aggregators in turn.
func (p *plan) cut(segs []chunk) {
	t := p.e.team
	total := int64(0)
	for _, s := range segs {
		total += s.n
	}
	// A small total is divided equally among the aggregators.
	aggs := int64(len(t.Aggs))
	size := min(t.window, (total/aggs/4096+1)*4096)
	win, used, end := -1, int64(0), int64(0)
	for _, s := range segs {
		for s.n > 0 {
			if used == end {
				win, used = win+1, skew(s.off)
				end = min(t.window, used+size)
			}
			c := s
			c.n = min(s.n, end-used)
			c.slot, c.round, c.woff = win%len(t.Aggs), win/len(t.Aggs), used
			p.chunks = append(p.chunks, c)
			used += c.n
			s.off, s.at, s.n = s.off+c.n, s.at+c.n, s.n-c.n
		}
	}
	if len(p.chunks) > 0 {
		p.rounds = p.chunks[len(p.chunks)-1].round + 1
	}
}

// deal assigns the units of the file to the aggregators in turn. A unit has the same aggregator in every flush.
func (p *plan) deal(segs []chunk) {
	t := p.e.team
	unit, aggs := p.e.opt.Stripe.Size, int64(len(t.Aggs))
	turn := max(int64(p.e.opt.Stripe.Count), aggs) // a multiple of aggs if the file has fewer servers than aggregators
	if n := int64(p.e.opt.Stripe.Count); n > 0 && aggs > n {
		turn = aggs
	}
	type state struct {
		round int
		used  int64
		unit  int64
	}
	at := make([]state, aggs)
	for _, s := range segs {
		for s.n > 0 {
			u := s.off / unit
			a := &at[u%turn%aggs]
			if u != a.unit && t.window-a.used < unit { // a unit must not cross two windows
				a.round, a.used = a.round+1, 0
			}
			a.unit = u
			c := s
			c.n = min(s.n, (u+1)*unit-s.off)
			c.slot, c.round, c.woff = int(u%turn%aggs), a.round, a.used
			p.chunks = append(p.chunks, c)
			a.used += c.n
			p.rounds = max(p.rounds, a.round+1)
			s.off, s.at, s.n = s.off+c.n, s.at+c.n, s.n-c.n
		}
	}
}

// copyOp is a part of a piece of this rank that goes into a window.
type copyOp struct {
	ref      ref
	from, to int64 // range in the piece
	slot     int
	round    int
	woff     int64
}

// copies lists the parts that this rank copies into windows, by round.
func (p *plan) copies(q *queue) []copyOp {
	var ops []copyOp
	at := 0
	for _, r := range q.refs {
		pd := q.pend(r)
		off, n, _ := p.e.Layout.spot(int(r.i), pd)
		lo, hi := p.ownRange(p.e.Layout.Table.ID[0], varRec{pd.V, pd.Rec}, off, n)
		for _, x := range [2][2]int64{{off, lo}, {hi, off + n}} {
			if x[0] >= x[1] {
				continue
			}
			if at >= len(p.chunks) || p.chunks[at].off > x[0] || p.chunks[at].off+p.chunks[at].n <= x[0] {
				at = sort.Search(len(p.chunks), func(k int) bool { return p.chunks[k].off+p.chunks[k].n > x[0] })
			}
			for o := x[0]; o < x[1]; {
				c := &p.chunks[at]
				end := min(x[1], c.off+c.n)
				ops = append(ops, copyOp{r, o - off, end - off, c.slot, c.round, c.woff + o - c.off})
				if o = end; end == c.off+c.n {
					at++
				}
			}
		}
	}
	slices.SortStableFunc(ops, func(a, b copyOp) int { return cmp.Compare(a.round, b.round) })
	return ops
}

// mine lists the chunks of one aggregator, by round, and within a round by offset in the window.
func (p *plan) mine(slot int) []chunk {
	var out []chunk
	for _, c := range p.chunks {
		if c.slot == slot {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b chunk) int { return cmp.Compare(a.round, b.round) })
	return out
}
