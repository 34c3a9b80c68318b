package e3smcases

import (
	"fmt"
	"slices"

	"blobio/decomp"
)

// pCols is the maximum number of columns of a physics chunk, as in CAM's captured maps.
const pCols = 16

// F describes the maps of the F case.
type F struct {
	Ne     int // elements along a side of a cube face; ncol is 54 Ne^2 + 2
	Levels int // length of lev, 72 in the captured map
	Ranks  int
}

func (f F) check() error {
	switch {
	case f.Ne < 1 || f.Ne > 6000:
		return fmt.Errorf("F: ne is %d, want 1 to 6000", f.Ne) // 54 ne^2 + 2 must fit int32
	case f.Levels < 1:
		return fmt.Errorf("F: %d levels, want >= 1", f.Levels)
	case f.Ranks < 1 || f.Ranks > decomp.MaxRanks:
		return fmt.Errorf("F: %d ranks, want 1 to %d", f.Ranks, decomp.MaxRanks)
	}
	return nil
}

// Maps returns D1, D2 and D3, sorted and merged like the maps that E3SM-IO has read.
func (f F) Maps() ([]*decomp.Map, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c := cube{f.Ne}
	owner, err := c.partition(f.Ranks)
	if err != nil {
		return nil, err
	}
	d1, err := f.dynamics(c, owner)
	if err != nil {
		return nil, err
	}
	d2, d3, err := f.physics(c, owner)
	if err != nil {
		return nil, err
	}
	return []*decomp.Map{d1, d2, d3}, nil
}

// dynamics makes D1: the columns of the rank's elements, by element number.
func (f F) dynamics(c cube, owner []int32) (*decomp.Map, error) {
	lists := newLists(owner, f.Ranks)
	starts := make([]int64, len(owner)+1)
	for e := range owner {
		starts[e+1] = starts[e] + c.count(e)
	}
	b := decomp.NewBuilder([]int64{c.cols()}, f.Ranks)
	var reqs []decomp.Req
	for r := range f.Ranks {
		reqs = reqs[:0]
		for _, e := range lists.of(r) {
			reqs = appendRun(reqs, starts[e], starts[e+1]-starts[e])
		}
		if err := b.Set(r, reqs); err != nil {
			return nil, err
		}
	}
	return b.Map()
}

// appendRun appends a run of n elements, or merges it with the last run if it follows directly.
func appendRun(reqs []decomp.Req, off, n int64) []decomp.Req {
	if n == 0 {
		return reqs
	}
	if k := len(reqs) - 1; k >= 0 && reqs[k].Offset+reqs[k].Length == off {
		reqs[k].Length += n
		return reqs
	}
	return append(reqs, decomp.Req{Offset: off, Length: n})
}

// physics makes D2 and D3 in the way of CAM's phys_grid with phys_loadbalance 2 and without twins. Columns are assigned round
// robin to chunks of at most pCols columns; each rank gets the same number of chunks. Each chunk in turn goes to the rank with
// room that has the most columns of the chunk in D1. In a tie, the rank of the earliest column wins. If no rank with columns of
// the chunk has room, the chunk goes to the lowest rank with room.
func (f F) physics(c cube, owner []int32) (d2, d3 *decomp.Map, err error) {
	ncol := c.cols()
	own := make([]int32, 0, ncol) // D1 rank of each column
	for e, r := range owner {
		for range c.count(e) {
			own = append(own, r)
		}
	}
	chunks := f.chunks(ncol)
	where := assignChunks(own, chunks, f.Ranks)

	b2 := decomp.NewBuilder([]int64{ncol}, f.Ranks)
	b3 := decomp.NewBuilder([]int64{int64(f.Levels), ncol}, f.Ranks)
	lists := newLists(where, f.Ranks)
	var flat, deep []decomp.Req
	for r := range f.Ranks {
		flat, deep = flat[:0], deep[:0]
		for _, k := range lists.of(r) {
			for col := int64(k); col < ncol; col += chunks {
				flat = append(flat, decomp.Req{Offset: col, Length: 1})
			}
		}
		flat = decomp.SortCoalesce(flat, ncol)
		deep = appendLevels(deep, flat, f.Levels, ncol)
		if err = b2.Set(r, flat); err != nil {
			return nil, nil, err
		}
		if err = b3.Set(r, deep); err != nil {
			return nil, nil, err
		}
	}
	if d2, err = b2.Map(); err != nil {
		return nil, nil, err
	}
	d3, err = b3.Map()
	return d2, d3, err
}

// appendLevels appends reqs once per level, each time shifted by size.
func appendLevels(dst, reqs []decomp.Req, levels int, size int64) []decomp.Req {
	dst = slices.Grow(dst, len(reqs)*levels)
	for l := range int64(levels) {
		for _, q := range reqs {
			dst = append(dst, decomp.Req{Offset: q.Offset + l*size, Length: q.Length})
		}
	}
	return dst
}

// chunks returns the number of physics chunks: chunks of pCols columns, rounded up to a multiple of the number of ranks, but no
// more chunks than columns.
func (f F) chunks(ncol int64) int64 {
	p := int64(f.Ranks)
	n := max((ncol+pCols-1)/pCols, p)
	n = (n + p - 1) / p * p
	return min(n, ncol)
}

// assignChunks returns the rank of each chunk. Chunk k has the columns k, k+chunks, ...
func assignChunks(own []int32, chunks int64, ranks int) []int32 {
	ncol := int64(len(own))
	room := make([]int64, ranks)
	for r := range room {
		room[r] = chunks / int64(ranks)
		if int64(r) < chunks%int64(ranks) {
			room[r]++
		}
	}
	where := make([]int32, chunks)
	count := make([]int32, ranks) // number of columns of the chunk, by rank
	var seen []int32              // ranks with room and columns of the chunk, in the order of their first column
	free := 0                     // all ranks below free have no room
	for k := range chunks {
		seen = seen[:0]
		for col := k; col < ncol; col += chunks {
			r := own[col]
			if room[r] == 0 {
				continue
			}
			if count[r] == 0 {
				seen = append(seen, r)
			}
			count[r]++
		}
		best, most := int32(-1), int32(0)
		for _, r := range seen {
			if count[r] > most {
				best, most = r, count[r]
			}
			count[r] = 0
		}
		if best < 0 {
			for room[free] == 0 {
				free++
			}
			best = int32(free)
		}
		room[best]--
		where[k] = best
	}
	return where
}

// lists holds the items of each rank, ascending.
type lists struct {
	items []int32
	start []int // rank r has items[start[r]:start[r+1]]
}

// newLists inverts an item -> rank table. A negative rank means no owner.
func newLists(owner []int32, ranks int) lists {
	l := lists{start: make([]int, ranks+1)}
	for _, r := range owner {
		if r >= 0 {
			l.start[r+1]++
		}
	}
	for r := range ranks {
		l.start[r+1] += l.start[r]
	}
	l.items = make([]int32, l.start[ranks])
	next := slices.Clone(l.start)
	for i, r := range owner {
		if r >= 0 {
			l.items[next[r]] = int32(i)
			next[r]++
		}
	}
	return l
}

func (l lists) of(rank int) []int32 { return l.items[l.start[rank]:l.start[rank+1]] }
