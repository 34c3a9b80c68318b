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

// node is how this process waits, and what it has in common with the others of its node: an arena, which begins with
//
//	offset  what
//	0       token
//	64      int64: bytes that are given away
//	128     uint32: notices that ranks of the node have sent
//	4096    a bell for each process; boards
//
// A process sleeps on its own bell only, whatever it waits for, so that whoever changes something that it may wait for rings
// it; a goroutine of its own process pokes it.
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

// ring wakes the process whose bell it is, if it sleeps. What it may wait for was changed before.
func (b *bell) ring() {
	if b.asleep.Load() != 0 {
		C.bell_wake(unsafe.Pointer(b))
	}
}

// yields are looks before a process sleeps, each of which gives the core to another one, that may be the one waited for. Where processes
// outnumber the cores few of them bring on all others, and more take the core from those that work.
const yields = 20

func newNode() *node {
	own := new([2]bell) // without pointers, and never moved
	words := (*[2]atomic.Uint32)(unsafe.Pointer(&own[1]))
	return &node{n: 1, own: &own[0], pokes: &words[0], broken: &words[1]}
}

func (n *node) bell(i int) *bell {
	return (*bell)(unsafe.Pointer(&n.arena[arenaHead+i*cacheLine]))
}

// glance looks at a word for a while without sleep.
func (n *node) glance(word *atomic.Uint32, round uint32) bool {
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

// openNode makes the arena of the ranks of each node, and the board of l, if all of them have one. It blocks in MPI, as what precedes
// it in open.
func (e *Engine) openNode(l *link) error {
	if l.size == 1 {
		e.node.whole = true
		l.board = newBoard(make([]byte, boardBytes(1)), e.node, []int32{0}, 0)
		return nil
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
	// The node may have others, where it did not fail, and so nobody goes on alone.
	if ok, err := agreed(l.c, ok); err != nil || !ok {
		return err
	}
	defer C.MPI_Comm_free(&c)
	var me, n, tagMax C.int
	if err := check("MPI_Comm_rank", C.comm_info(c, &me, &n, &tagMax)); err != nil {
		return err
	}
	arena, err := e.openArena(l, c, int(me), int(n))
	if arena == nil || err != nil {
		return err
	}
	return e.meetNode(l, c, arena, int(me), int(n))
}

// openArena maps the memory; nil if a rank cannot have it.
func (e *Engine) openArena(l *link, c C.MPI_Comm, me, n int) (b []byte, err error) {
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

// meetNode tells the processes of a node of each other.
func (e *Engine) meetNode(l *link, c C.MPI_Comm, arena []byte, me, n int) error {
	nd := e.node
	nd.arena, nd.me, nd.n, nd.whole = arena, me, n, n == l.size
	nd.own = nd.bell(me)
	nd.broken = (*atomic.Uint32)(unsafe.Pointer(&arena[2*cacheLine]))
	here := alloc(4 * n) // who is here, by rank in l
	defer free(here)
	if err := check("ranks of a node", C.comm_places(c, l.c, C.int(n), here.intp())); err != nil {
		return err
	}
	nd.place = make([]int32, l.size)
	for i := range nd.place {
		nd.place[i] = -1
	}
	for i, r := range here.ints(n) {
		nd.place[r] = int32(i)
	}
	l.place = nd.place
	if n == l.size {
		return e.giveBoard(l)
	}
	return nil
}
