package decomp

import "math"

// A block is a pattern of runs that is repeated count times, shifted by stride.
// See compactor for its repetitions. Invariants: n >= 1; count >= 1;
// stride > 0 if count > 1.
type block struct {
	base   int64 // canonical offset of run 0 of repetition 0
	pos    int64 // position in the rank's blob of that run
	elems  int64 // elements of one repetition; may be 0
	count  int64 // repetitions
	stride int64 // canonical shift from one repetition to the next
	lo, hi int64 // a repetition lies in [base+lo, base+hi); lo <= 0
	pat    int   // where the pattern starts in store.rel and store.end; unused if n == 1
	n      int32 // runs of the pattern
	sorted bool  // the runs of a repetition ascend and do not overlap
}

// blockSize is what a block occupies in memory, in bytes (64-bit hosts).
const blockSize = 72

// store holds what all ranks of a map share.
type store struct {
	blocks []block
	rel    []int32 // start of each run of a pattern, relative to its first run
	end    []int32 // elements of the pattern up to and with this run
}

// maxPattern is the largest relative offset and the largest number of elements of a pattern of more than one run.
const maxPattern = math.MaxInt32

// pattern returns the runs of b. For a single run they are nil.
func (s *store) pattern(b *block) (rel, end []int32) {
	if b.n == 1 {
		return nil, nil
	}
	return s.rel[b.pat : b.pat+int(b.n) : b.pat+int(b.n)], s.end[b.pat : b.pat+int(b.n) : b.pat+int(b.n)]
}

// start and stop are the first offset and the one behind the last, over all repetitions.
func (b *block) start() int64 { return b.base + b.lo }
func (b *block) stop() int64  { return b.base + b.hi + (b.count-1)*b.stride }

// blobEnd is the position in the blob behind the last repetition.
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
	if d := hi - b.base - b.lo; d > 0 { // as hi > start
		r1 = min(r1, (d-1)/b.stride+1)
	}
	return r0, max(r0, r1)
}

// repsAt returns the range of repetitions that touch blob positions [lo, hi).
func (b *block) repsAt(lo, hi int64) (r0, r1 int64) {
	if b.elems == 0 || hi <= b.pos || lo >= b.blobEnd() || lo >= hi {
		return 0, 0
	}
	if lo > b.pos {
		r0 = (lo - b.pos) / b.elems
	}
	return r0, min(b.count, (hi-b.pos-1)/b.elems+1)
}
