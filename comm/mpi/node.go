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

// node has the bell of this process and the arena, the memory that the processes of the node share. The arena begins with
//
//	offset  content
//	0       token
//	64      int64: bytes in use
//	128     uint32: number of notices sent by ranks of the node
//	4096    a bell for each process; boards
//
// A process sleeps only on its own bell. A process that changes a word rings the bells of processes that may wait for it.
// A goroutine of the same process pokes it.
type node struct {
	arena []byte  // nil: no rank of the engine has an arena
	me, n int     // index of this process on the node, and number of processes
	place []int32 // process index of each rank of the engine; -1: on another node
	whole bool    // all ranks of the engine are on this node

	patience C.int // how often spin yields the core

	mu     sync.Mutex // guards own against concurrent pokes
	own    *bell
	pokes  *atomic.Uint32
	broken *atomic.Uint32
}

// bell is a cache line of the arena.
type bell struct {
	turns  atomic.Uint32 // the word to sleep on
	asleep atomic.Uint32
	_      [cacheLine - 8]byte
}

// ring wakes the process of the bell if it sleeps. Before the call, the caller must change the word that the process is waiting
// on.
func (b *bell) ring() {
	if b.asleep.Load() != 0 {
		C.bell_wake(unsafe.Pointer(b))
	}
}

// fewYields is how often a process checks a word and yields the core before it sleeps, if the node has more processes than cores. A
// few yields let all other processes run, and more would take the core from busy processes. If each process can have a core, it
// yields manyYields times, about a millisecond: waking a process that sleeps takes longer than most calls.
const (
	fewYields  = 20
	manyYields = 2000
)

func (n *node) yields() C.int {
	if n.n > int(C.node_cores()) {
		return fewYields
	}
	return manyYields
}

func newNode() *node {
	own := new([2]bell) // contains no pointers and never moves
	words := (*[2]atomic.Uint32)(unsafe.Pointer(&own[1]))
	return &node{n: 1, own: &own[0], pokes: &words[0], broken: &words[1]}
}

func (n *node) bell(i int) *bell {
	return (*bell)(unsafe.Pointer(&n.arena[arenaHead+i*cacheLine]))
}

func (n *node) spin(word *atomic.Uint32, round uint32) bool {
	return int32(word.Load()-round) > 0 || C.node_wait(unsafe.Pointer(n.own), unsafe.Pointer(word), C.uint32_t(round), n.patience,
		unsafe.Pointer(n.pokes), 0, unsafe.Pointer(n.broken), 0, 0) == C.DONE
}

// sleep waits until a word has passed round, this process is poked, or a notice is sent, but at most ns.
func (n *node) sleep(word *atomic.Uint32, round uint32, poked, known uint32, ns int64) bool {
	return C.node_wait(unsafe.Pointer(n.own), unsafe.Pointer(word), C.uint32_t(round), 0,
		unsafe.Pointer(n.pokes), C.uint32_t(poked), unsafe.Pointer(n.broken), C.uint32_t(known), C.int64_t(ns)) == C.DONE
}

// poke ends the sleep of this process. Any goroutine may call it.
func (n *node) poke() {
	n.mu.Lock() // another goroutine may be closing the arena
	defer n.mu.Unlock()
	n.pokes.Add(1)
	n.own.ring()
}

// alarm wakes all processes of the node after a notice was sent.
func (n *node) alarm() {
	n.broken.Add(1)
	for i := range n.n {
		if n.arena != nil && i != n.me {
			n.bell(i).ring()
		}
	}
}

// rest sleeps for up to ns, regardless of failures.
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

// open makes the arena of each node and the board of l, if all ranks have an arena. It calls blocking MPI functions.
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
	// Opening may have failed on some ranks, so the ranks must agree.
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
	n.patience = n.yields()
	return n.find(l, c)
}

// sharedArena maps the memory. It returns nil if a rank cannot map it.
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
	here := alloc(4 * n.n) // the ranks in l of this node's processes
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

// agreed reports whether ok holds on all ranks.
func agreed(c C.MPI_Comm, ok bool) (bool, error) {
	mine, all := C.int(0), C.int(0)
	if ok {
		mine = 1
	}
	err := check("MPI_Allreduce", C.node_all(mine, &all, c))
	return err == nil && all != 0, err
}

// giveBoard gives a board to a link whose ranks are on one node, if the arena has space. It calls blocking MPI functions.
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
