package decomp

import (
	"blobio/internal/base/fault"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// A Builder makes a Map, rank by rank. It is safe for concurrent use.
type Builder struct {
	dims  []int64
	elems int64

	mu    sync.Mutex
	ranks []rank
	isSet []bool
	store store
	known map[uint64]int // index of a stored pattern by its hash
	done  bool
	err   error
}

// MaxRanks is the maximum number of ranks of a map, and of comm.Run. A larger number is probably a mistake and would need too
// much memory.
const MaxRanks = 1 << 24

// NewBuilder returns a Builder for a map over dims, slowest first, with this number of ranks. Set and Map report wrong arguments:
// negative, over MaxRanks, or over 2^63-1 elements.
func NewBuilder(dims []int64, ranks int) *Builder {
	b := &Builder{dims: slices.Clone(dims), elems: product(dims)}
	switch {
	case b.elems < 0:
		b.err = fault.Usage("dimensions %v, want lengths >= 0 with a product < 2^63", dims)
	case ranks < 0:
		b.err = fault.Usage("%d ranks, want >= 0", ranks)
	case ranks > MaxRanks:
		b.err = fault.Usage("%d ranks, want at most %d", ranks, MaxRanks)
	default:
		b.ranks = make([]rank, ranks)
		b.isSet = make([]bool, ranks)
	}
	return b
}

// Set sets the requests of a rank, in map order, without keeping reqs. Each rank can be set once, in any order. A rank that is
// not set owns nothing. A request outside the array is a *RequestError (ErrRange).
func (b *Builder) Set(rank int, reqs []Req) error {
	if b.err != nil {
		return b.err
	}
	if rank < 0 || rank >= len(b.ranks) {
		return fault.Usage("rank %d, want %s", rank, fault.Below(len(b.ranks), "ranks"))
	}
	k, err := b.inspect(rank, reqs)
	if err != nil {
		return err
	}
	c := compactors.Get().(*compactor)
	defer compactors.Put(c)
	c.reset()
	c.run(reqs)

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return fault.Usage("Set after Map")
	}
	if b.isSet[rank] {
		return fault.Usage("rank %d is set twice", rank)
	}
	b.isSet[rank] = true
	b.add(rank, &c.store, k)
	return nil
}

// compactors are reused for their buffers.
var compactors = sync.Pool{New: func() any { return new(compactor) }}

// inspect checks requests and returns a rank's entry without its blocks.
func (b *Builder) inspect(r int, reqs []Req) (rank, error) {
	k := rank{nreqs: int64(len(reqs)), sorted: len(reqs) > 0, lo: math.MaxInt64}
	prev := int64(0)
	for i, q := range reqs {
		end := q.Offset + q.Length
		if q.Offset < 0 || q.Length < 0 || end < 0 || end > b.elems {
			return k, &RequestError{Rank: r, Index: int64(i), Req: q, Dims: slices.Clone(b.dims)}
		}
		if k.count += q.Length; k.count < 0 {
			return k, fault.Usage("rank %d has more than 2^63-1 elements", r)
		}
		if q.Offset < prev {
			k.sorted = false
		}
		prev = end
		if q.Length > 0 {
			k.lo, k.hi = min(k.lo, q.Offset), max(k.hi, end)
		}
	}
	if k.hi == 0 {
		k.lo = 0
	}
	return k, nil
}

// add appends the blocks of s as blocks of rank r.
func (b *Builder) add(r int, s *store, k rank) {
	k.first, k.n = len(b.store.blocks), len(s.blocks)
	for _, bl := range s.blocks {
		if bl.n > 1 {
			rel, end := s.pattern(&bl)
			bl.pat = b.keep(rel, end)
		}
		b.store.blocks = append(b.store.blocks, bl)
	}
	b.ranks[r] = k
}

// keep stores a pattern and returns its index. Equal patterns are stored once.
func (b *Builder) keep(rel, end []int32) int {
	h := uint64(len(rel))
	for i := range rel {
		h = bits.RotateLeft64(h^(uint64(uint32(rel[i]))<<32|uint64(uint32(end[i]))), 29) * 0xbf58476d1ce4e5b9
	}
	at, ok := b.known[h]
	if ok && at+len(rel) <= len(b.store.rel) && slices.Equal(b.store.rel[at:at+len(rel)], rel) && slices.Equal(b.store.end[at:at+len(rel)], end) {
		return at
	}
	at = len(b.store.rel)
	b.store.rel = append(b.store.rel, rel...)
	b.store.end = append(b.store.end, end...)
	if !ok {
		if b.known == nil {
			b.known = make(map[uint64]int)
		}
		b.known[h] = at
	}
	return at
}

// Map returns the map. The Builder cannot be used afterwards.
func (b *Builder) Map() (*Map, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return nil, fault.Usage("Map called twice")
	}
	b.done = true
	m := &Map{dims: b.dims, elems: b.elems, ranks: b.ranks, store: &store{
		blocks: exact(b.store.blocks), rel: exact(b.store.rel), end: exact(b.store.end)}}
	b.store, b.known = store{}, nil
	return m, m.sum()
}

// exact returns s without much spare capacity.
func exact[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/16 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// sum computes the totals of a map from its ranks.
func (m *Map) sum() error {
	m.total, m.maxReqs = 0, 0
	for i := range m.ranks {
		k := &m.ranks[i]
		if m.total > math.MaxInt64-k.count {
			return fault.Usage("the ranks own more than 2^63-1 elements")
		}
		m.total += k.count
		m.maxReqs = max(m.maxReqs, k.nreqs)
	}
	return nil
}
