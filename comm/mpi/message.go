//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// A message of MPI is its length and the serial of its Comm, 8 bytes each in the order of the host, and
// its bytes; what exceeds a piece follows in messages of the same tag, which MPI keeps in order.
const envelopeMPI = 16

// address is where a message goes on this rank.
type address struct {
	link      uint64
	serial    int64
	from, tag int
}

// sending is a message that MPI may still read.
type sending struct {
	req C.MPI_Request
	buf unsafe.Pointer
	l   *link // nil: a notice
}

// reap frees the buffers that MPI is through with, and gives it a chance to go on.
func (e *Engine) reap() {
	var code C.int
	left := e.sends[:0]
	for _, s := range e.sends {
		if C.glue_test(&s.req, e.k, 1, 1, &code) == C.DONE {
			C.free(s.buf)
		} else {
			left = append(left, s)
		}
	}
	clear(e.sends[len(left):])
	e.sends = left
}

func (r *rank) checkMessage(peer, tag int) error {
	if err := r.checkRank("rank", peer); err != nil {
		return err
	}
	if tag < 0 || tag > r.e.tagMax {
		return r.usage("tag %d, want 0 ... %d", tag, r.e.tagMax)
	}
	return nil
}

// near is the process of a rank on this node; -1 if there are no rings to it.
func (r *rank) near(peer int) int {
	if r.e.node.ringed == 0 || r.place == nil {
		return -1
	}
	return int(r.place[peer])
}

// keep puts a message where Recv of this rank finds it.
func (e *Engine) keep(at address, b []byte) { e.early[at] = append(e.early[at], b) }

func (r *rank) Send(ctx context.Context, to, tag int, b []byte) error {
	if h := r.e.home; h.here() { // without what a closure costs
		defer h.mu.Unlock()
		if err := r.e.enter(ctx); err != nil {
			return err
		}
		return r.deliver(ctx, to, tag, b)
	}
	return r.call(ctx, func() error { return r.deliver(ctx, to, tag, b) })
}

// deliver is Send where MPI may be called.
func (r *rank) deliver(ctx context.Context, to, tag int, b []byte) error {
	if err := r.checkMessage(to, tag); err != nil {
		return err
	}
	switch near := r.near(to); {
	case to == r.rank:
		r.e.keep(address{r.id, r.serial, to, tag}, append([]byte{}, b...))
		return nil
	case near >= 0:
		return r.sendNear(ctx, near, to, tag, b)
	}
	return r.sendMPI(to, tag, b)
}

// minLent is the shortest message that is lent to a receiver who waits for it, rather than copied into a ring.
const minLent = 24 << 10

func (r *rank) sendNear(ctx context.Context, near, to, tag int, b []byte) error {
	n := r.e.node
	v := envelope{how: behind, size: int64(len(b)), link: r.id, serial: r.serial, tag: int32(tag), from: int32(r.rank)}
	if most := n.ringed / 2; len(b) <= min(minLent, most) || len(b) <= most && !(n.pull && n.ring(n.me, near).awaited()) {
		n.post(near, &v, b)
		return nil
	}
	if !n.pull {
		v.how = byMPI
		n.post(near, &v, nil)
		return r.sendMPI(to, tag, b)
	}
	v.how = lent
	o, ring := &n.outs[near], n.ring(n.me, near)
	// Who waits for this message takes it at once, so that nobody waits for long: the bytes need not be copied.
	// For a long one it is worth waiting for him a little.
	if len(o.queue) == 0 && n.glance(&ring.waiting, ring.tail.Load(), len(b)>>8, min(len(b)>>15, idleYield)) && ring.awaited() {
		r.e.loan = b // in the heap, where it is not moved
		v.addr = uint64(uintptr(unsafe.Pointer(&b[0])))
		if ring.put(&v, nil, &o.head) {
			o.settle(ring.taken.Load())
			n.bell(near).ring()
			before := o.loans
			o.loans++
			err := r.e.until(ctx, &ring.taken, before, false)
			r.e.loan = nil
			if err != nil {
				ring.revoked.Store(1)
			}
			return err
		}
	}
	p := alloc(len(b))
	copy(p.bytes(len(b)), b)
	v.addr = uint64(uintptr(p.p))
	o.loans++
	o.kept = append(o.kept, p)
	n.busy = true
	n.post(near, &v, nil)
	return nil
}

func (r *rank) sendMPI(to, tag int, b []byte) error {
	n := min(len(b), r.e.opts.Piece-envelopeMPI)
	p := C.malloc(C.size_t(envelopeMPI + n))
	first := unsafe.Slice((*byte)(p), envelopeMPI+n)
	binary.NativeEndian.PutUint64(first, uint64(len(b)))
	binary.NativeEndian.PutUint64(first[8:], uint64(r.serial))
	copy(first[envelopeMPI:], b[:n])
	if err := r.send(p, len(first), to, tag); err != nil {
		return err
	}
	for b = b[n:]; len(b) > 0; b = b[n:] {
		n = min(len(b), r.e.opts.Piece)
		if err := r.send(C.CBytes(b[:n]), n, to, tag); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) send(p unsafe.Pointer, n, to, tag int) error {
	s := sending{buf: p, l: r.link}
	if err := r.e.mpi("MPI_Isend", C.msg_send(p, C.int(n), C.int(to), C.int(tag), r.c, &s.req)); err != nil {
		return err
	}
	r.e.sends = append(r.e.sends, s)
	r.tidy.sent++
	return nil
}

func (r *rank) Recv(ctx context.Context, from, tag int) ([]byte, error) {
	if h := r.e.home; h.here() {
		defer h.mu.Unlock()
		if err := r.e.enter(ctx); err != nil {
			return nil, err
		}
		return r.receive(ctx, from, tag)
	}
	return r.receiveAway(ctx, from, tag)
}

func (r *rank) receiveAway(ctx context.Context, from, tag int) (b []byte, err error) {
	err = r.call(ctx, func() error {
		b, err = r.receive(ctx, from, tag)
		return err
	})
	return b, err
}

// receive is Recv where MPI may be called.
func (r *rank) receive(ctx context.Context, from, tag int) ([]byte, error) {
	if err := r.checkMessage(from, tag); err != nil {
		return nil, err
	}
	want := address{r.id, r.serial, from, tag}
	for {
		if len(r.e.early) > 0 {
			if q := r.e.early[want]; len(q) > 0 {
				if r.e.early[want] = q[1:]; len(q) == 1 {
					delete(r.e.early, want)
				}
				return q[0], nil
			}
		}
		// It may be for another Comm or tag, then the next is looked at.
		at, got, err := r.next(ctx, want)
		if err != nil {
			return nil, err
		}
		if at == want {
			return got, nil
		}
		r.e.keep(at, got)
	}
}

// next receives the next message of a rank of the link, to any of its Comms, and if it comes through a ring to any link and tag.
func (r *rank) next(ctx context.Context, want address) (at address, b []byte, err error) {
	near := r.near(want.from)
	if at = want; near < 0 || want.from == r.rank {
		at.serial, b, err = r.message(ctx, want.from, want.tag)
		return at, b, err
	}
	n := r.e.node
	ring := n.ring(near, n.me)
	var v envelope
	for !ring.peek(&v) {
		ring.await()
		err := r.e.until(ctx, &ring.tail, ring.head.Load(), false)
		ring.found()
		if err != nil {
			return at, nil, err
		}
	}
	b, err = r.open(ctx, near, ring, &v)
	return address{v.link, v.serial, int(v.from), int(v.tag)}, b, err
}

// open takes a message out of a ring.
func (r *rank) open(ctx context.Context, near int, ring ring, v *envelope) (b []byte, err error) {
	n := r.e.node
	if v.how != byMPI {
		b = r.e.room(int(v.size))
	}
	switch v.how {
	case behind:
		ring.copyOut(ring.head.Load()+uint32(envelopeBytes), b)
	case lent:
		err := n.read(n.bell(near), v.addr, b)
		if ring.revoked.Load() != 0 { // also where there is no such memory any more
			return nil, r.e.awaitNotice(ctx)
		}
		if err != nil {
			return nil, r.e.failRank(err)
		}
	}
	ring.pop(v)
	if v.how == lent || ring.starved.Load() != 0 {
		n.bell(near).ring()
	}
	if v.how == byMPI {
		l := r.e.linkOf(v.link)
		if l == nil {
			return nil, r.e.failRank(fmt.Errorf("a message to an unknown communicator"))
		}
		_, b, err = (&rank{l, v.serial}).message(ctx, int(v.from), int(v.tag))
	}
	return b, err
}

// message receives the next message of a rank that comes by MPI, to any Comm of the link.
func (r *rank) message(ctx context.Context, from, tag int) (serial int64, b []byte, err error) {
	first, err := r.recv(ctx, from, tag)
	if err != nil {
		return 0, nil, err
	}
	size := int(binary.NativeEndian.Uint64(first))
	serial = int64(binary.NativeEndian.Uint64(first[8:]))
	b = first[envelopeMPI:]
	if len(b) == size {
		return serial, b, nil
	}
	b = append(make([]byte, 0, size), b...)
	for len(b) < size {
		next, err := r.recv(ctx, from, tag)
		if err != nil {
			return 0, nil, err
		}
		b = append(b, next...)
	}
	return serial, b, nil
}

// recv receives one message of MPI.
func (r *rank) recv(ctx context.Context, from, tag int) ([]byte, error) {
	var flag, n C.int
	var m C.MPI_Message
	err := r.e.poll(ctx, false, true, nil, 0, func() (bool, error) {
		for try := range 64 {
			if err := r.e.mpi("MPI_Improbe", C.msg_probe(C.int(from), C.int(tag), r.c, &flag, &n, &m)); err != nil || flag != 0 {
				return flag != 0, err
			}
			if try > 8 {
				C.glue_yield()
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	p := C.malloc(C.size_t(n) + 1)
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Imrecv", C.msg_recv(p, n, &m, &req)); err != nil {
		return nil, err
	}
	r.tidy.received++
	if err := r.e.wait(ctx, &req, false); err != nil {
		r.tidy.left = append(r.tidy.left, leftover{req, noHeader}) // MPI may still write to p
		r.e.live++
		return nil, err
	}
	defer C.free(p)
	return append([]byte{}, unsafe.Slice((*byte)(p), n)...), nil
}
