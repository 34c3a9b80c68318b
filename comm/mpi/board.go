//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"math"
	"sync/atomic"
	"unsafe"
)

// A board is memory of one node in which the ranks of a link meet: each leaves a few words and bytes in a slot of its own, and who
// has found those of all others goes on. It takes the place of small collectives of MPI, which
// on more ranks than cores need many turns of processes that only look whether something has
// come; who waits at a board sleeps until it is complete, or somebody else rings him.
//
//	offset  what
//	0       uint32: how many sleep, or are about to
//	128     two sets of slots, for rounds of even and odd number, one slot for each rank:
//	        a mark, which begins with its number (slot), and bytes, if they are not too many (board.area)
//
// What a rank leaves fills one cache line if it is short, and is there when its number is.
// A rank that leaves words for round k+2 overwrites those of round k. It has found all others in round k+1;
// so all have come to it too, and before that have read those of round k.
type board struct {
	base   unsafe.Pointer
	n, me  int
	area   int
	stride int // of slots
	round  uint32
	node   *node
	place  []int32 // of its ranks, among the processes of the node
}

// mark is what a rank says of the collective that it is in.
type mark struct {
	sig, elems int64 // of all ranks the same, but for a call without a name
	n          int64
}

// slot is what a rank leaves, before its bytes.
type slot struct {
	came atomic.Uint32 // 1 more than the round for which this is
	_    uint32
	mark
	bytes int64
}

const (
	boardHead  = 128
	slotHead   = int(unsafe.Sizeof(slot{}))
	maxBoard   = 4 << 20
	maxArea    = 128 << 10
	minArea    = 512
	cacheLine  = 64
	twoLines   = 2 * cacheLine // which processors fetch together
	arenaBytes = 64 << 20      // of boards
	arenaHead  = 4096          // token, and the number of bytes that are given away
	tokenBytes = 16
)

// strideOf is the distance of slots of n ranks.
func strideOf(n int) int {
	return min(max(maxBoard/2/n, minArea+twoLines), maxArea+twoLines) / twoLines * twoLines
}

func boardBytes(n int) int { return boardHead + 2*n*strideOf(n) }

func newBoard(mem []byte, n *node, place []int32, me int) *board {
	stride := strideOf(len(place))
	return &board{base: unsafe.Pointer(&mem[0]), n: len(place), me: me, area: stride - slotHead, stride: stride, node: n, place: place}
}

func (b *board) sleepers() *atomic.Uint32 { return (*atomic.Uint32)(b.base) }

// slot is that of a rank in a round which is complete, or being made.
func (b *board) slot(round uint32, rank int) *slot {
	return (*slot)(unsafe.Add(b.base, boardHead+(int(round&1)*b.n+rank)*b.stride))
}

// last is the slot of a rank in the round that is complete, until the next.
func (b *board) last(rank int) *slot { return b.slot(b.round-1, rank) }

// data are the bytes of a slot.
func (s *slot) data() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(s), slotHead) }

// left are the bytes that a rank left in the last round, until the next; nil if they were too many.
func (b *board) left(rank int) []byte {
	s := b.last(rank)
	if s.bytes < 0 || s.bytes > int64(b.area) {
		return nil
	}
	return unsafe.Slice((*byte)(s.data()), s.bytes)
}

// fits says whether n bytes of each rank are left as they are.
func (b *board) fits(n int64) bool { return b != nil && n <= int64(b.area) }

// come leaves a mark, and bytes if they are not too many.
func (b *board) come(m mark, data []byte) {
	s := b.slot(b.round, b.me)
	s.mark, s.bytes = m, int64(len(data))
	if len(data) <= b.area {
		copy(unsafe.Slice((*byte)(s.data()), b.area), data)
	}
	s.came.Store(b.round + 1)
	// Who goes to sleep says so before he looks for the last time.
	if b.sleepers().Load() != 0 && b.missing(0) == nil {
		for i, at := range b.place {
			if i != b.me {
				b.node.bell(int(at)).ring()
			}
		}
	}
}

// missing is the slot of the first rank, from one on, that has not come; nil if the round is complete.
func (b *board) missing(from int) *slot {
	for j := from; j < b.n; j++ {
		if s := b.slot(b.round, j); int32(s.came.Load()-b.round) <= 0 {
			return s
		}
	}
	return nil
}

// gather waits for all others, without sleep, as long as is worth it. It returns the slot of one who has not come.
func (b *board) gather() *slot {
	for j := range b.n {
		if s := b.slot(b.round, j); int32(s.came.Load()-b.round) <= 0 && !b.node.glance(&s.came, b.round) {
			return s
		}
	}
	return nil
}

// meet is a round on the board of r, where MPI may be called.
func (r *rank) meet(ctx context.Context, m mark, data []byte, stay bool) error {
	b := r.board
	b.come(m, data)
	if s := b.gather(); s != nil {
		if err := r.await(ctx, s, stay); err != nil {
			return err
		}
	}
	b.round++
	return nil
}

// await sleeps until all have come, the one of s among them.
func (r *rank) await(ctx context.Context, s *slot, stay bool) error {
	b := r.board
	b.sleepers().Add(1)
	defer b.sleepers().Add(^uint32(0))
	for ; s != nil; s = b.missing(0) {
		err := r.e.poll(ctx, stay, false, &s.came, b.round, func() (bool, error) { return int32(s.came.Load()-b.round) > 0, nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// judge returns the greatest n of the last round, or how the calls of the ranks differ.
func (b *board) judge() (most int64, err error) {
	first := b.last(0).mark
	first.sig = step(first.sig)
	low, high, most := first, first, first.n
	lowCall, highCall := int64(math.MaxInt64), int64(0)
	for j := range b.n {
		m := b.last(j).mark
		most = max(most, m.n)
		low.sig, low.elems = min(low.sig, step(m.sig)), min(low.elems, m.elems)
		high.sig, high.elems = max(high.sig, step(m.sig)), max(high.elems, m.elems)
		if c := m.sig >> callShift; c != 0 {
			lowCall, highCall = min(lowCall, c), max(highCall, c)
		}
	}
	if low.sig == high.sig && low.elems == high.elems && highCall > lowCall {
		low.sig, high.sig = low.sig|lowCall<<callShift, high.sig|highCall<<callShift
	}
	if low.sig != high.sig || low.elems != high.elems {
		return 0, &difference{low: low, high: high}
	}
	return most, nil
}

// agreed says whether all ranks are ok.
func agreed(c C.MPI_Comm, ok bool) (bool, error) {
	mine, all := C.int(0), C.int(0)
	if ok {
		mine = 1
	}
	err := check("MPI_Allreduce", C.node_all(mine, &all, c))
	return err == nil && all != 0, err
}

// giveBoard gives a link whose ranks are on one node a board, if there is room for one. It blocks.
func (e *Engine) giveBoard(l *link) error {
	if l.size == 1 {
		l.board = newBoard(make([]byte, boardBytes(1)), e.node, []int32{0}, 0)
		return nil
	}
	if e.node.arena == nil {
		return nil
	}
	n := boardBytes(l.size)
	p := (*C.int64_t)(C.calloc(1, 8))
	defer C.free(unsafe.Pointer(p))
	if l.rank == 0 {
		*p = C.int64_t(take(e.node.arena, n))
	}
	if err := check("MPI_Bcast", C.node_bcast(unsafe.Pointer(p), 8, l.c)); err != nil {
		return err
	}
	if at := int(*p); at != 0 {
		l.board = newBoard(e.node.arena[at:at+n], e.node, l.place, l.rank)
	}
	return nil
}
