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

// A board is a rendezvous in shared memory of one node. Each rank writes a few words and bytes to its own slot, and continues
// when all other slots are complete. While a rank waits, it sleeps until another rank rings its bell. An MPI collective would
// poll instead, which wastes many time slices if there are more ranks than cores.
//
//	offset  content
//	0       uint32: number of ranks that sleep or are about to
//	128     two sets of slots, for even and odd rounds, one slot for each rank:
//	        the head (slot) and the rank's bytes, if they fit (board.area)
//
// A short slot fills one cache line. A slot is complete when its field came is one more than the round's number. In round k+2 a
// rank overwrites its data of round k. This is safe: the rank has seen all other ranks in round k+1, and each of them read the
// data of round k before it entered round k+1.
type board struct {
	base   unsafe.Pointer
	n, me  int
	area   int // maximum number of bytes that a rank can store
	stride int // distance between slots
	round  uint32
	e      *Engine
	place  []int32 // for each rank of the board: its index among the node's processes
}

// slot is the head of a slot. The rank's bytes follow it.
type slot struct {
	came atomic.Uint32 // one more than the round of the slot's data
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
	twoLines   = 2 * cacheLine // the size of the pair of lines that processors fetch together
	arenaBytes = 64 << 20      // bytes of an arena that boards can use
	arenaHead  = 4096          // the token and the number of used bytes
	tokenBytes = 16
)

func strideOf(n int) int {
	return min(max(maxBoard/2/n, minArea+twoLines), maxArea+twoLines) / twoLines * twoLines
}

func boardBytes(n int) int { return boardHead + 2*n*strideOf(n) }

func newBoard(mem []byte, e *Engine, place []int32, me int) *board {
	stride := strideOf(len(place))
	return &board{base: unsafe.Pointer(&mem[0]), n: len(place), me: me, area: stride - slotHead, stride: stride, e: e, place: place}
}

func (b *board) sleepers() *atomic.Uint32 { return (*atomic.Uint32)(b.base) }

// slot returns the slot of a rank in a complete or running round.
func (b *board) slot(round uint32, rank int) *slot {
	return (*slot)(unsafe.Add(b.base, boardHead+(int(round&1)*b.n+rank)*b.stride))
}

// last returns the slot of a rank in the last complete round. It is valid until the next round.
func (b *board) last(rank int) *slot { return b.slot(b.round-1, rank) }

func (s *slot) data() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(s), slotHead) }

// left returns the bytes of a rank in the last round, or nil if they did not fit. They are valid until the next round.
func (b *board) left(rank int) []byte {
	s := b.last(rank)
	if s.bytes < 0 || s.bytes > int64(b.area) {
		return nil
	}
	return unsafe.Slice((*byte)(s.data()), s.bytes)
}

func (b *board) fits(n int64) bool { return n <= int64(b.area) }

func (b *board) room(n int64) []byte {
	if !b.fits(n) {
		return nil
	}
	return unsafe.Slice((*byte)(b.slot(b.round, b.me).data()), n)
}

// come fills this rank's slot with a mark, and with data if they fit. It wakes the other ranks if this rank is the last.
func (b *board) come(m mark, data []byte) {
	s := b.slot(b.round, b.me)
	s.mark, s.bytes = m, int64(len(data))
	if to := b.room(int64(len(data))); len(to) > 0 && &to[0] != &data[0] {
		copy(to, data)
	}
	s.came.Store(b.round + 1)
	// No wake-up is missed, because a rank counts itself as a sleeper before its last check.
	if b.sleepers().Load() != 0 && b.missing(0) == nil {
		for i, at := range b.place {
			if i != b.me {
				b.e.node.bell(int(at)).ring()
			}
		}
	}
}

// missing returns the slot of the first rank >= from that has not arrived, or nil if there is none.
func (b *board) missing(from int) *slot {
	for j := from; j < b.n; j++ {
		if s := b.slot(b.round, j); int32(s.came.Load()-b.round) <= 0 {
			return s
		}
	}
	return nil
}

// gather polls for the other ranks for a while. It returns the slot of a rank that has not arrived, or nil.
func (b *board) gather() *slot {
	for j := range b.n {
		if s := b.slot(b.round, j); int32(s.came.Load()-b.round) <= 0 && !b.e.node.spin(&s.came, b.round) {
			return s
		}
	}
	return nil
}

// complete stores a mark and data, and waits for all other ranks.
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

// await sleeps until all ranks have arrived. s is the slot of a rank that has not arrived yet.
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

// judge compares the marks of the last round. It returns the maximum of their n, or a *difference if the ranks called different
// collectives.
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

// fold reduces the ranks' numbers in rank order.
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
			op.CombineInt64(res, x[:len(res)])
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

// name completes d, the difference between two collectives that ranks called: it finds the lowest rank in each collective, and
// the name of that rank's operation. After an error d is unchanged.
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
