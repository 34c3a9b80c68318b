//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"io"
	"runtime"
	"unsafe"
)

// A board is memory of one node in which the ranks of a link meet: each leaves a few words and bytes, and when
// the last one has come all read what the others left. It takes the place of small collectives of MPI, which
// on more ranks than cores need many turns of processes that only look whether something has
// come; who waits at a board sleeps until it is complete.
//
//	offset  what
//	0       uint32: how often a rank has come
//	64      uint32: rounds that are complete; who waits sleeps on it
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
	spins C.int // looks before it sleeps
}

const (
	boardHead  = 128
	slotHead   = 128 // of a slot, before its bytes
	maxBoard   = 1 << 20
	maxArea    = 16 << 10
	minArea    = 512
	cacheLine  = 64
	arenaBytes = 16 * maxBoard
	arenaHead  = 4096 // token, and the number of bytes that are given away
	tokenBytes = 16
)

// areaOf is how many bytes each of n ranks can leave.
func areaOf(n int) int {
	a := maxBoard/2/n - slotHead
	return min(max(a, minArea), maxArea) / cacheLine * cacheLine
}

func boardBytes(n int) int { return boardHead + 2*n*(slotHead+areaOf(n)) }

func newBoard(mem []byte, n, me int, spins int) *board {
	return &board{mem: mem, n: n, me: me, area: areaOf(n), spins: C.int(spins)}
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
	done := C.board_come(unsafe.Pointer(&b.mem[0]), C.uint32_t(b.round), C.uint32_t(b.n)) == C.DONE
	if done {
		b.round++
	}
	return done
}

// sleeps are how long one look at a board that is not complete sleeps at most, in nanoseconds: MPI
// is looked at in between, for a notice.
const (
	firstSleep = 1e6
	lastSleep  = 4e6
	busySleep  = 2e4 // while messages are on their way, which MPI brings on only if it is called
)

// look waits a little for the others.
func (b *board) look(ns int64) bool {
	done := C.board_wait(unsafe.Pointer(&b.mem[0]), C.uint32_t(b.round), b.spins, C.int64_t(ns)) == C.DONE
	if done {
		b.round++
	}
	return done
}

// meet is a round on the board of r, where MPI may be called.
func (r *rank) meet(ctx context.Context, data []byte, stay bool) error {
	b := r.board
	if b.come(r.head[:headWords], data) {
		return nil
	}
	return r.waitBoard(ctx, stay)
}

// waitBoard waits for the round that has begun, where MPI may be called.
func (r *rank) waitBoard(ctx context.Context, stay bool) error {
	e, ns := r.e, int64(firstSleep)
	return e.poll(ctx, stay, false, func() (bool, error) {
		wait := ns
		if len(e.sends) > 0 || e.passive {
			e.reap()
			wait = busySleep
		}
		if r.board.look(wait) {
			return true, nil
		}
		ns = min(2*ns, lastSleep)
		return false, e.mpi("MPI_Test", C.control_poll(e.k))
	})
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

// openArena makes common memory of the ranks of each node, and the board of l, if all of them have
// one. It blocks in MPI, as what precedes it in open.
func (e *Engine) openArena(l *link) error {
	if l.size == 1 {
		l.board = newBoard(make([]byte, boardBytes(1)), 1, 0, 0)
		return nil
	}
	var node C.MPI_Comm
	ok := true
	if per := e.opts.RanksPerNode; per > 0 {
		if err := check("MPI_Comm_split", C.comm_split(l.c, C.int(l.rank/per), C.int(l.rank), &node)); err != nil {
			return err
		}
	} else {
		ok = C.comm_split_node(l.c, &node) == C.MPI_SUCCESS
	}
	ok = ok && !e.failing("node", "shared", "window", "arena")
	// The node may have others, where it did not fail, and so nobody goes on alone.
	if ok, err := agreed(l.c, ok); err != nil || !ok {
		return err
	}
	defer C.MPI_Comm_free(&node)
	var me, n, tagMax C.int
	if err := check("MPI_Comm_rank", C.comm_info(node, &me, &n, &tagMax)); err != nil {
		return err
	}
	var o offer
	var b []byte
	var mine error
	if me == 0 {
		var f io.Closer
		if b, f, o, mine = newArea(arenaBytes); mine == nil {
			defer f.Close()
		}
	}
	p := C.CBytes(o[:])
	defer C.free(p)
	if err := check("MPI_Bcast", C.node_bcast(p, C.int(len(o)), node)); err != nil {
		return err
	}
	if me != 0 {
		copy(o[:], unsafe.Slice((*byte)(p), len(o)))
		b, mine = openArea(&o)
	}
	ok, err := agreed(l.c, mine == nil)
	if err != nil || !ok {
		if b != nil {
			closeArea(b)
		}
		return err
	}
	e.arena, e.spins = b, 0
	if int(n) <= runtime.NumCPU() {
		e.spins = idleSpins
	}
	if int(n) == l.size {
		return e.giveBoard(l)
	}
	return nil
}

// idleSpins are looks at a board before sleeping, where each rank of the node may have a core: some microseconds.
const idleSpins = 1000

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
		l.board = newBoard(make([]byte, boardBytes(1)), 1, 0, 0)
		return nil
	}
	if e.arena == nil {
		return nil
	}
	n := boardBytes(l.size)
	p := (*C.int64_t)(C.calloc(1, 8))
	defer C.free(unsafe.Pointer(p))
	if l.rank == 0 {
		*p = C.int64_t(take(e.arena, n))
	}
	if err := check("MPI_Bcast", C.node_bcast(unsafe.Pointer(p), 8, l.c)); err != nil {
		return err
	}
	if at := int(*p); at != 0 {
		l.board = newBoard(e.arena[at:at+n], l.size, l.rank, e.spins)
	}
	return nil
}
