//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"io"
	"math"
	"sync/atomic"
	"unsafe"

	"blobio/comm"
	"blobio/internal/comm/calls"
)

// A board is the rendezvous in memory of one node: each rank leaves a few words and bytes in a slot of its own, and goes on when it
// has found the slots of all others. A collective of MPI on more ranks than cores needs many turns of processes that only
// poll; a rank that waits at a board sleeps until the round is complete, or another rank rings its bell.
//
//	offset  what
//	0       uint32: how many sleep, or are about to
//	128     two sets of slots, for rounds of even and odd number, one slot for each rank:
//	        a mark, which begins with its number (slot), and bytes, if they are not too many (board.area)
//
// A short slot fills one cache line; it is complete when its number is there.
// A rank that leaves words for round k+2 overwrites its words of round k. It has found all other ranks in round k+1;
// so all have come to it too, and before that have read the words of round k.
type board struct {
	base   unsafe.Pointer
	n, me  int
	area   int // most bytes that a rank leaves
	stride int // of slots
	round  uint32
	e      *Engine
	place  []int32 // of its ranks, among the processes of the node
}

// slot is the head of a slot; the bytes follow.
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

func newBoard(mem []byte, e *Engine, place []int32, me int) *board {
	stride := strideOf(len(place))
	return &board{base: unsafe.Pointer(&mem[0]), n: len(place), me: me, area: stride - slotHead, stride: stride, e: e, place: place}
}

func (b *board) sleepers() *atomic.Uint32 { return (*atomic.Uint32)(b.base) }

// slot is the slot of a rank in a round that is complete, or under way.
func (b *board) slot(round uint32, rank int) *slot {
	return (*slot)(unsafe.Add(b.base, boardHead+(int(round&1)*b.n+rank)*b.stride))
}

// last is the slot of a rank in the last complete round, until the next.
func (b *board) last(rank int) *slot { return b.slot(b.round-1, rank) }

// data are the bytes of a slot.
func (s *slot) data() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(s), slotHead) }

// left are the bytes of a rank in the last round, until the next; nil if they were too many.
func (b *board) left(rank int) []byte {
	s := b.last(rank)
	if s.bytes < 0 || s.bytes > int64(b.area) {
		return nil
	}
	return unsafe.Slice((*byte)(s.data()), s.bytes)
}

func (b *board) fits(n int64) bool { return n <= int64(b.area) }

// come leaves a mark, and bytes if they fit.
func (b *board) come(m mark, data []byte) {
	s := b.slot(b.round, b.me)
	s.mark, s.bytes = m, int64(len(data))
	if len(data) <= b.area {
		copy(unsafe.Slice((*byte)(s.data()), b.area), data)
	}
	s.came.Store(b.round + 1)
	// A rank counts itself among the sleepers before it looks for the last time.
	if b.sleepers().Load() != 0 && b.missing(0) == nil {
		for i, at := range b.place {
			if i != b.me {
				b.e.node.bell(int(at)).ring()
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

// gather waits for all others without sleep, for a while. It returns the slot of a rank that has not come.
func (b *board) gather() *slot {
	for j := range b.n {
		if s := b.slot(b.round, j); int32(s.came.Load()-b.round) <= 0 && !b.e.node.spin(&s.came, b.round) {
			return s
		}
	}
	return nil
}

// complete leaves a mark and waits for all others.
func (b *board) complete(ctx context.Context, m mark, data []byte, stay bool) error {
	b.come(m, data)
	if s := b.gather(); s != nil {
		if err := b.await(ctx, s, stay); err != nil {
			return err
		}
	}
	b.round++
	return nil
}

// await sleeps until all have come. s is the slot of one that has not.
func (b *board) await(ctx context.Context, s *slot, stay bool) error {
	b.sleepers().Add(1)
	defer b.sleepers().Add(^uint32(0))
	for ; s != nil; s = b.missing(0) {
		err := b.e.poll(ctx, waiting{stay: stay, word: &s.came, round: b.round}, func() (bool, error) { return int32(s.came.Load()-b.round) > 0, nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *board) meet(ctx context.Context, m mark, data []byte, stay bool) (int64, error) {
	if err := b.complete(ctx, m, data, stay); err != nil {
		return 0, err
	}
	return b.judge()
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

// fold reduces in the order of the ranks.
func (b *board) fold(k kind, op comm.Op, res []int64) bool {
	if !b.fits(8 * int64(len(res))) {
		return false
	}
	n := b.n
	if k == kExscan {
		n = b.me
	}
	for j := range n {
		if x := numbers(b.left(j)); j == 0 { // slots are aligned
			copy(res, x)
		} else {
			op.CombineInt64(res, x)
		}
	}
	return true
}

func (b *board) common(ctx context.Context, bits uint64, stay bool) (uint64, error) {
	if err := b.complete(ctx, mark{n: int64(bits)}, nil, stay); err != nil {
		return 0, err
	}
	all := ^uint64(0)
	for j := range b.n {
		all &= uint64(b.last(j).n)
	}
	return all, nil
}

func (b *board) lengths(ctx context.Context, n int) ([]int64, error) {
	if err := b.complete(ctx, mark{n: int64(n)}, nil, false); err != nil {
		return nil, err
	}
	all := make([]int64, b.n)
	for j := range all {
		all[j] = b.last(j).n
	}
	return all, nil
}

// name finds for both collectives of a difference the lowest rank that is in it, and the call of its caller. After an error the difference stays as it is.
func (b *board) name(ctx context.Context, _ mark, d *difference, stay bool) {
	keys := [2]int64{d.key(d.low), d.key(d.high)}
	var at [2]int
	for j := b.n - 1; j >= 0; j-- {
		for k := range keys {
			if m := b.last(j).mark; d.key(m) == keys[k] {
				at[k], d.who[k].elems = j, m.elems
			}
		}
	}
	call := calls.Of(ctx)
	if len(call) > b.area || b.complete(ctx, mark{n: int64(b.e.world.rank)}, []byte(call), stay) != nil {
		return
	}
	for k, j := range at {
		d.who[k].rank, d.who[k].call = b.last(j).n, string(b.left(j))
	}
	d.named = true
}

func (b *board) memory(ctx context.Context, size int) (area []byte, err error) {
	if size > math.MaxInt-arenaHead {
		return nil, nil
	}
	var o offer
	var mine error
	if b.me == 0 {
		var f io.Closer
		if area, f, o, mine = newArea(arenaHead + size); mine == nil {
			defer f.Close()
		}
	}
	if err = b.complete(ctx, mark{}, o[:], true); err == nil && b.me != 0 {
		o = offer(b.left(0))
		area, mine = openArea(&o)
	}
	ok := uint64(0)
	if err == nil {
		if mine == nil && !b.e.failing("node", "shared", "window", "arena") {
			ok = 1
		}
		ok, err = b.common(ctx, ok, true)
	}
	if area != nil && (ok == 0 || err != nil) {
		closeArea(area)
	}
	if ok == 0 || err != nil {
		return nil, err
	}
	return area, nil
}
