//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// A board is memory of one node in which the ranks of a link meet: each leaves a few words and bytes, and when
// the last one has come all read what the others left. It takes the place of small collectives of MPI, which
// on more ranks than cores need many turns of processes that only look whether something has
// come; who waits at a board sleeps until it is complete, or somebody else rings him.
//
//	offset  what
//	0       uint32: how often a rank has come
//	64      uint32: rounds that are complete; who waits looks at it
//	68      uint32: a rank has failed that lent something to others, which may have changed: 1
//	128     two sets of slots, for rounds of even and odd number, one slot for each rank:
//	        headWords words of 8 bytes, the number of bytes (8), the bytes (board.area)
//
// A rank that leaves words for round k+2 overwrites those of round k. It has come to round k+1 and found it complete;
// so all others have come to it too, and before that have read those of round k.
type board struct {
	mem   []byte
	n, me int
	area  int
	round uint32
	node  *node
	place []int32 // of its ranks, among the processes of the node
}

const (
	boardHead  = 128
	slotHead   = 128 // of a slot, before its bytes
	maxBoard   = 4 << 20
	maxArea    = 128 << 10
	minArea    = 512
	cacheLine  = 64
	arenaBytes = 64 << 20 // of boards
	arenaHead  = 4096     // token, and the number of bytes that are given away
	tokenBytes = 16
)

// areaOf is how many bytes each of n ranks can leave.
func areaOf(n int) int {
	a := maxBoard/2/n - slotHead
	return min(max(a, minArea), maxArea) / cacheLine * cacheLine
}

func boardBytes(n int) int { return boardHead + 2*n*(slotHead+areaOf(n)) }

func newBoard(mem []byte, n *node, place []int32, me int) *board {
	return &board{mem: mem, n: len(place), me: me, area: areaOf(len(place)), node: n, place: place}
}

func (b *board) came() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b.mem[0])) }
func (b *board) turn() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b.mem[cacheLine])) }

func (b *board) revoked() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&b.mem[cacheLine+4]))
}

// slot is that of a rank in the round which is complete, or being made.
func (b *board) slot(round uint32, rank int) unsafe.Pointer {
	return unsafe.Pointer(&b.mem[boardHead+(int(round&1)*b.n+rank)*(slotHead+b.area)])
}

// words are those of a rank in a round, and after them the number of its bytes.
func (b *board) words(round uint32, rank int) *[headWords + 1]int64 {
	return (*[headWords + 1]int64)(b.slot(round, rank))
}

// left are the bytes that a rank left in the last round, until the next; nil if they were too many.
func (b *board) left(rank int) []byte {
	n := b.words(b.round-1, rank)[headWords]
	if n < 0 || n > int64(b.area) {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(b.slot(b.round-1, rank), slotHead)), n)
}

// fits says whether n bytes of each rank are left as they are.
func (b *board) fits(n int64) bool { return b != nil && n <= int64(b.area) }

// come leaves words and bytes, and says whether the round is complete by that.
func (b *board) come(words []C.int64_t, data []byte) bool {
	w := b.words(b.round, b.me)
	for i := range words {
		w[i] = int64(words[i])
	}
	w[headWords] = int64(len(data))
	if len(data) <= b.area {
		copy(unsafe.Slice((*byte)(unsafe.Add(b.slot(b.round, b.me), slotHead)), b.area), data)
	}
	if b.came().Add(1) != (b.round+1)*uint32(b.n) {
		return false
	}
	b.round++
	b.turn().Store(b.round)
	for i, at := range b.place {
		if i != b.me {
			b.node.bell(int(at)).ring()
		}
	}
	return true
}

// meet is a round on the board of r, where MPI may be called.
func (r *rank) meet(ctx context.Context, data []byte, stay bool) error {
	b := r.board
	if b.come(r.head[:headWords], data) {
		return nil
	}
	err := r.e.until(ctx, b.turn(), b.round, stay)
	if err == nil {
		b.round++
	}
	return err
}

// greatest puts the greatest word of all ranks in each place of the second half of r.head.
func (r *rank) greatest() {
	b, out := r.board, r.head[headWords:]
	for j := range b.n {
		w := b.words(b.round-1, j)
		for i := range out {
			if v := C.int64_t(w[i]); j == 0 || v > out[i] {
				out[i] = v
			}
		}
	}
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
