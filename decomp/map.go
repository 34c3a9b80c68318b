package decomp

import (
	"iter"
	"slices"
)

// A Map has, for each rank, the elements of an array that it owns, in the order of its blob. It is immutable. Methods accept any
// rank; a rank outside the map owns nothing.
type Map struct {
	dims    []int64
	elems   int64
	ranks   []rank
	store   *store
	total   int64
	maxReqs int64
}

// rank is one entry of a Map.
type rank struct {
	first, n int // range of blocks in store.blocks
	nreqs    int64
	count    int64
	lo, hi   int64
	sorted   bool // all requests ascend and do not overlap
}

const rankSize = 56 // size in bytes on 64-bit hosts

// Dims returns a copy of the lengths of the decomposed dimensions, slowest first.
func (m *Map) Dims() []int64 { return slices.Clone(m.dims) }

// Row returns the length of the fastest dimension, or 1 if there is none.
func (m *Map) Row() int64 {
	if len(m.dims) == 0 {
		return 1
	}
	return max(m.dims[len(m.dims)-1], 1)
}

// Elems returns the number of elements of the array: the product of Dims.
func (m *Map) Elems() int64 { return m.elems }

// Ranks returns the number of ranks, including those that own nothing.
func (m *Map) Ranks() int { return len(m.ranks) }

// Total returns the number of elements owned by all ranks. An element owned twice counts twice.
func (m *Map) Total() int64 { return m.total }

// MaxReqs returns the maximum number of requests of a rank.
func (m *Map) MaxReqs() int64 { return m.maxReqs }

func (m *Map) rank(r int) *rank {
	if r < 0 || r >= len(m.ranks) {
		return new(rank)
	}
	return &m.ranks[r]
}

func (m *Map) blocks(k *rank) []block { return m.store.blocks[k.first : k.first+k.n] }

// NumReqs returns the number of requests of a rank.
func (m *Map) NumReqs(rank int) int64 { return m.rank(rank).nreqs }

// Count returns the number of elements of a rank: the length of its blob.
func (m *Map) Count(rank int) int64 { return m.rank(rank).count }

// Bounds returns the smallest range of canonical offsets that contains all elements of a rank; (0, 0) if it owns none.
func (m *Map) Bounds(rank int) (lo, hi int64) {
	k := m.rank(rank)
	return k.lo, k.hi
}

// Sorted reports whether the requests of a rank ascend and do not overlap.
func (m *Map) Sorted(rank int) bool {
	k := m.rank(rank)
	return k.sorted || k.n == 0
}

// Reqs iterates over the requests of a rank, in map order.
func (m *Map) Reqs(rank int) iter.Seq[Req] {
	return func(yield func(Req) bool) {
		blocks := m.blocks(m.rank(rank))
		for i := range blocks {
			b := &blocks[i]
			if b.n == 1 {
				for r := range b.count {
					if !yield(Req{b.base + r*b.stride, b.elems}) {
						return
					}
				}
				continue
			}
			rel, end := m.store.pattern(b)
			for r := range b.count {
				o := b.base + r*b.stride
				prev := int32(0)
				for j, d := range rel {
					if !yield(Req{o + int64(d), int64(end[j] - prev)}) {
						return
					}
					prev = end[j]
				}
			}
		}
	}
}

// AppendReqs appends the requests of a rank to dst, in map order.
func (m *Map) AppendReqs(dst []Req, rank int) []Req {
	dst = slices.Grow(dst, int(m.NumReqs(rank)))
	for q := range m.Reqs(rank) {
		dst = append(dst, q)
	}
	return dst
}

// Sub returns the map of n ranks from first, as ranks 0 to n-1. It shares storage with m. It omits ranks outside m.
func (m *Map) Sub(first, n int) *Map {
	first = min(max(first, 0), len(m.ranks))
	n = min(max(n, 0), len(m.ranks)-first)
	s := &Map{dims: m.dims, elems: m.elems, ranks: m.ranks[first : first+n : first+n], store: m.store}
	s.sum() //nolint:errcheck // no overflow: part of a sum that fits
	return s
}

// MemSize returns the approximate memory of the map in bytes. Maps made by Sub share storage, which each counts in full.
func (m *Map) MemSize() int64 {
	s := m.store
	return int64(cap(m.dims))*8 + int64(cap(m.ranks))*rankSize +
		int64(cap(s.blocks))*blockSize + int64(cap(s.rel)+cap(s.end))*4
}

// product returns the product of dims, or -1 if a dimension is negative or the product overflows.
func product(dims []int64) int64 {
	p := int64(1)
	for _, d := range dims {
		if d == 0 {
			p = 0
		}
		if d < 0 {
			return -1
		}
	}
	for _, d := range dims {
		if p != 0 && d > (1<<63-1)/p {
			return -1
		}
		p *= d
	}
	return p
}
