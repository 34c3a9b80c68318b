package decomp

import "math"

// A block is a pattern of runs repeated count times, each time shifted by stride. Invariants: n >= 1; count >= 1; stride > 0 if
// count > 1.
type block struct {
	base   int64 // canonical offset of run 0 of repetition 0
	pos    int64 // blob position of run 0 of repetition 0
	elems  int64 // elements per repetition; may be 0
	count  int64 // number of repetitions
	stride int64 // canonical shift from one repetition to the next
	lo, hi int64 // a repetition is within [base+lo, base+hi); lo <= 0
	pat    int   // index of the pattern in store.rel and store.end; unused if n == 1
	n      int32 // runs in the pattern
	sorted bool  // the runs of a repetition ascend and do not overlap
}

// blockSize is the memory of a block in bytes (64-bit hosts).
const blockSize = 72

// store has the data that all ranks of a map share.
type store struct {
	blocks []block
	rel    []int32 // start of each run of a pattern, relative to its first run
	end    []int32 // elements of the pattern up to the end of each run
}

// maxPattern is the maximum relative offset and the maximum number of elements of a pattern with several runs.
const maxPattern = math.MaxInt32

// pattern returns the runs of b. A single run has no stored pattern: rel and end are nil.
func (s *store) pattern(b *block) (rel, end []int32) {
	if b.n == 1 {
		return nil, nil
	}
	return s.rel[b.pat : b.pat+int(b.n) : b.pat+int(b.n)], s.end[b.pat : b.pat+int(b.n) : b.pat+int(b.n)]
}

// start returns the first offset of all repetitions, and stop the offset after the last.
func (b *block) start() int64 { return b.base + b.lo }
func (b *block) stop() int64  { return b.base + b.hi + (b.count-1)*b.stride }

// blobEnd returns the position in the blob after the last repetition.
func (b *block) blobEnd() int64 { return b.pos + b.count*b.elems }

// repsIn returns the range of repetitions that may touch canonical [lo, hi).
func (b *block) repsIn(lo, hi int64) (r0, r1 int64) {
	if hi <= b.start() || lo >= b.stop() || lo >= hi {
		return 0, 0
	}
	if b.count == 1 {
		return 0, 1
	}
	// repetition r lies in [base+lo+r*stride, base+hi+r*stride)
	if d := lo - b.base - b.hi; d >= 0 {
		r0 = d/b.stride + 1
	}
	r1 = b.count
	if d := hi - b.base - b.lo; d > 0 { // because hi > start
		r1 = min(r1, (d-1)/b.stride+1)
	}
	return r0, max(r0, r1)
}

// repsAt returns the range of repetitions in blob positions [lo, hi).
func (b *block) repsAt(lo, hi int64) (r0, r1 int64) {
	if b.elems == 0 || hi <= b.pos || lo >= b.blobEnd() || lo >= hi {
		return 0, 0
	}
	if lo > b.pos {
		r0 = (lo - b.pos) / b.elems
	}
	return r0, min(b.count, (hi-b.pos-1)/b.elems+1)
}
