//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// node is the bell of this process, and the memory that it shares with the other processes of its node: an arena, which begins with
//
//	offset  what
//	0       token
//	64      int64: bytes in use
//	128     uint32: notices that ranks of the node have sent
//	4096    a bell for each process; boards
//
// A process sleeps on its own bell only. A process that changes a word on which others may wait rings their bells; a goroutine of the same process
// pokes it.
type node struct {
	arena []byte  // nil: there is none, on all ranks of the engine
	me, n int     // among the processes of the node
	place []int32 // of each rank of the engine among them; -1: on another node
	whole bool    // the engine has no ranks on other nodes

	mu     sync.Mutex // of own, for pokes
	own    *bell
	pokes  *atomic.Uint32
	broken *atomic.Uint32
}

// bell is a cache line of the arena.
type bell struct {
	turns  atomic.Uint32 // slept on
	asleep atomic.Uint32
	_      [cacheLine - 8]byte
}

// ring wakes the process of the bell, if it sleeps. The word that it waits for was changed before.
func (b *bell) ring() {
	if b.asleep.Load() != 0 {
		C.bell_wake(unsafe.Pointer(b))
	}
}

// yields is how often a process looks, and gives its core to another one, before it sleeps. Where processes
// outnumber the cores a few yields let all others run, and more would take the core from busy ones.
const yields = 20

func newNode() *node {
	own := new([2]bell) // without pointers, and never moved
	words := (*[2]atomic.Uint32)(unsafe.Pointer(&own[1]))
	return &node{n: 1, own: &own[0], pokes: &words[0], broken: &words[1]}
}

func (n *node) bell(i int) *bell {
	return (*bell)(unsafe.Pointer(&n.arena[arenaHead+i*cacheLine]))
}

// spin looks at a word for a while without sleep.
func (n *node) spin(word *atomic.Uint32, round uint32) bool {
	return int32(word.Load()-round) > 0 || C.node_wait(unsafe.Pointer(n.own), unsafe.Pointer(word), C.uint32_t(round), yields,
		unsafe.Pointer(n.pokes), 0, unsafe.Pointer(n.broken), 0, 0) == C.DONE
}

// sleep waits up to ns until a word is past round, this process is poked, or a notice is sent.
func (n *node) sleep(word *atomic.Uint32, round uint32, poked, known uint32, ns int64) bool {
	return C.node_wait(unsafe.Pointer(n.own), unsafe.Pointer(word), C.uint32_t(round), 0,
		unsafe.Pointer(n.pokes), C.uint32_t(poked), unsafe.Pointer(n.broken), C.uint32_t(known), C.int64_t(ns)) == C.DONE
}

// poke ends the sleep of this process, from any goroutine.
func (n *node) poke() {
	n.mu.Lock() // the arena may be about to be closed
	defer n.mu.Unlock()
	n.pokes.Add(1)
	n.own.ring()
}

// alarm wakes all of the node, because a notice was sent.
func (n *node) alarm() {
	n.broken.Add(1)
	for i := range n.n {
		if n.arena != nil && i != n.me {
			n.bell(i).ring()
		}
	}
}

// rest sleeps a little, whatever has failed.
func (e *Engine) rest(ns int64) { e.node.sleep(nil, 0, e.node.pokes.Load(), e.node.broken.Load(), ns) }

func (n *node) close() {
	if n.arena != nil {
		n.mu.Lock()
		n.own, n.broken = new(bell), new(atomic.Uint32)
		n.mu.Unlock()
		closeArea(n.arena)
		n.arena, n.n = nil, 0
	}
}

// open makes the arena of the ranks of each node, and the board of l, if all of them have an arena. It blocks in MPI.
func (n *node) open(l *link) error {
	e := l.e
	if l.size == 1 {
		n.whole = true
		return l.giveBoard()
	}
	var c C.MPI_Comm
	ok := true
	if per := e.opts.RanksPerNode; per > 0 {
		if err := check("MPI_Comm_split", C.comm_split(l.c, C.int(l.rank/per), C.int(l.rank), &c)); err != nil {
			return err
		}
	} else {
		ok = C.comm_split_node(l.c, &c) == C.MPI_SUCCESS
	}
	ok = ok && !e.failing("node", "shared", "window", "arena")
	// It may have failed on some ranks of the node only, so all must agree.
	if ok, err := agreed(l.c, ok); err != nil || !ok {
		return err
	}
	defer C.MPI_Comm_free(&c)
	var me, size, tagMax C.int
	if err := check("MPI_Comm_rank", C.comm_info(c, &me, &size, &tagMax)); err != nil {
		return err
	}
	arena, err := sharedArena(l, c, int(me), int(size))
	if arena == nil || err != nil {
		return err
	}
	n.arena, n.me, n.n, n.whole = arena, int(me), int(size), int(size) == l.size
	return n.find(l, c)
}

// sharedArena maps the memory; nil if a rank cannot have it.
func sharedArena(l *link, c C.MPI_Comm, me, n int) (b []byte, err error) {
	var o offer
	var mine error
	if me == 0 {
		var f io.Closer
		head := arenaHead + n*cacheLine
		if b, f, o, mine = newArea(head + arenaBytes); mine == nil {
			defer f.Close()
			atomic.StoreInt64((*int64)(unsafe.Pointer(&b[cacheLine])), int64(head-arenaHead))
		}
	}
	p := C.CBytes(o[:])
	defer C.free(p)
	if err := check("MPI_Bcast", C.node_bcast(p, C.int(len(o)), c)); err != nil {
		return nil, err
	}
	if me != 0 {
		copy(o[:], unsafe.Slice((*byte)(p), len(o)))
		b, mine = openArea(&o)
	}
	ok, err := agreed(l.c, mine == nil)
	if (err != nil || !ok) && b != nil {
		closeArea(b)
		b = nil
	}
	return b, err
}

// find finds the other processes of the node.
func (n *node) find(l *link, c C.MPI_Comm) error {
	n.own = n.bell(n.me)
	n.broken = (*atomic.Uint32)(unsafe.Pointer(&n.arena[2*cacheLine]))
	here := alloc(4 * n.n) // the ranks of this node in l
	defer free(here)
	if err := check("cannot get the ranks of a node", C.comm_places(c, l.c, C.int(n.n), here.intp())); err != nil {
		return err
	}
	n.place = make([]int32, l.size)
	for i := range n.place {
		n.place[i] = -1
	}
	for i, r := range here.ints(n.n) {
		n.place[r] = int32(i)
	}
	l.place = n.place
	if n.whole {
		return l.giveBoard()
	}
	return nil
}

// agreed is true if all ranks are ok.
func agreed(c C.MPI_Comm, ok bool) (bool, error) {
	mine, all := C.int(0), C.int(0)
	if ok {
		mine = 1
	}
	err := check("MPI_Allreduce", C.node_all(mine, &all, c))
	return err == nil && all != 0, err
}

// giveBoard gives a link whose ranks are on one node a board, if there is room for one. It blocks.
func (l *link) giveBoard() error {
	if l.size == 1 {
		l.local, l.rendezvous = true, newBoard(make([]byte, boardBytes(1)), l.e, []int32{0}, 0)
		return nil
	}
	arena := l.e.node.arena
	if arena == nil {
		return nil
	}
	n := boardBytes(l.size)
	p := (*C.int64_t)(C.calloc(1, 8))
	defer C.free(unsafe.Pointer(p))
	if l.rank == 0 {
		*p = C.int64_t(take(arena, n))
	}
	if err := check("MPI_Bcast", C.node_bcast(unsafe.Pointer(p), 8, l.c)); err != nil {
		return err
	}
	if at := int(*p); at != 0 {
		l.local, l.rendezvous = true, newBoard(arena[at:at+n], l.e, l.place, l.rank)
	}
	return nil
}
