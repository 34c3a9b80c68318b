//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// A ring carries the messages of one process to another one of the node: each is an envelope, and behind it its bytes if they are few.
// Of a longer one the receiver reads the bytes from where the sender has them, in memory of his own that he keeps until then, or they come
// by MPI where he may not.
type ring struct {
	*ringHead
	data []byte // a power of two
}

// ringHead is in the arena. Positions grow and turn over at 2^32.
type ringHead struct {
	head    atomic.Uint32 // what the receiver has taken
	taken   atomic.Uint32 // how many messages that were lent he has read
	waiting atomic.Uint32 // where he waits for the next message of this sender, and 1 more; else at most the head
	_       [cacheLine - 12]byte
	tail    atomic.Uint32 // what the sender has left
	starved atomic.Uint32 // he found no room: 1
	revoked atomic.Uint32 // what he lent may have changed: 1
	_       [cacheLine - 12]byte
}

const (
	ringHeadBytes = 2 * cacheLine
	maxRing       = 256 << 10
	minRing       = 4 << 10
	ringsBytes    = 96 << 20 // of a node, at most
)

// How the bytes of a message come.
const (
	behind = iota
	lent
	byMPI
)

// envelope is what precedes the bytes of a message.
type envelope struct {
	how       int64
	size      int64
	link      uint64
	serial    int64
	tag, from int32 // from is a rank of the link
	addr      uint64
}

const envelopeBytes = int(unsafe.Sizeof(envelope{}))

func (n *node) ring(from, to int) ring {
	at := arenaHead + n.n*cacheLine + (from*n.n+to)*(ringHeadBytes+n.ringed)
	return ring{(*ringHead)(unsafe.Pointer(&n.arena[at])), n.arena[at+ringHeadBytes : at+ringHeadBytes+n.ringed]}
}

func round8(n int) int { return (n + 7) &^ 7 }

// copyIn and copyOut go around the end of the ring.
func (r ring) copyIn(at uint32, b []byte) {
	k := copy(r.data[int(at)&(len(r.data)-1):], b)
	copy(r.data, b[k:])
}

func (r ring) copyOut(at uint32, b []byte) {
	k := copy(b, r.data[int(at)&(len(r.data)-1):])
	copy(b[k:], r.data)
}

func (v *envelope) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), envelopeBytes) }

// await says that the receiver waits for a message that has not come, and found ends that.
func (r ring) await() { r.waiting.Store(r.head.Load() + 1) }
func (r ring) found() { r.waiting.Store(r.waiting.Load() - 1) }

// awaited says whether the receiver waits for the next message. Then he waits until it comes: that he waited for the one
// before it, and may not have seen yet that it came, is not enough.
func (r ring) awaited() bool { return r.waiting.Load() == r.tail.Load()+1 }

// put leaves a message, if there is room behind the position that the receiver was seen to have reached.
func (r ring) put(v *envelope, b []byte, head *uint32) bool {
	tail := r.tail.Load()
	n := envelopeBytes + round8(len(b))
	if len(r.data)-int(tail-*head) < n {
		if *head = r.head.Load(); len(r.data)-int(tail-*head) < n {
			return false
		}
	}
	r.copyIn(tail, v.bytes())
	r.copyIn(tail+uint32(envelopeBytes), b)
	r.tail.Store(tail + uint32(n))
	return true
}

// peek reads the next envelope.
func (r ring) peek(v *envelope) bool {
	head := r.head.Load()
	if r.tail.Load() == head {
		return false
	}
	r.copyOut(head, v.bytes())
	return true
}

// pop takes the message of that envelope, after its bytes.
func (r ring) pop(v *envelope) {
	n := envelopeBytes
	if v.how == behind {
		n += round8(int(v.size))
	}
	r.head.Add(uint32(n))
	if v.how == lent {
		r.taken.Add(1)
	}
}

// letter is a message that waits for room.
type letter struct {
	envelope
	b []byte
}

// outgoing is what a process has for another.
type outgoing struct {
	queue []letter
	head  uint32   // of the ring, when it was last looked at: his cache line is left alone meanwhile
	loans uint32   // made so far
	kept  []buffer // copies that are lent, the last of these loans
}

// settle frees the copies of which the other has taken all.
func (o *outgoing) settle(taken uint32) {
	for len(o.kept) > 0 && int32(o.loans-uint32(len(o.kept))-taken) < 0 {
		free(o.kept[0])
		o.kept = o.kept[1:]
	}
}

// flush brings on what waits for others, without waiting.
func (n *node) flush() {
	if !n.busy {
		return
	}
	n.busy = false
	for i := range n.outs {
		o := &n.outs[i]
		if len(o.queue) == 0 && len(o.kept) == 0 {
			continue
		}
		r := n.ring(n.me, i)
		put := false
		for len(o.queue) > 0 {
			r.starved.Store(1) // before the look for room
			if !r.put(&o.queue[0].envelope, o.queue[0].b, &o.head) {
				break
			}
			put = true
			o.queue = o.queue[1:]
		}
		if len(o.queue) == 0 {
			r.starved.Store(0)
		}
		if put {
			n.bell(i).ring()
		}
		o.settle(r.taken.Load())
		n.busy = n.busy || len(o.queue) > 0 || len(o.kept) > 0
	}
}

// unsent says whether something waits for room.
func (n *node) unsent() bool {
	for i := range n.outs {
		if len(n.outs[i].queue) > 0 {
			return true
		}
	}
	return false
}

// post leaves a message for a process, and never waits: it copies what finds no room.
func (n *node) post(to int, v *envelope, b []byte) {
	o, r := &n.outs[to], n.ring(n.me, to)
	if len(o.queue) > 0 || !r.put(v, b, &o.head) {
		o.queue = append(o.queue, letter{*v, bytes.Clone(b)})
		n.busy = true
		n.flush() // tells that there was no room
		return
	}
	n.bell(to).ring()
}
