//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/binary"
	"slices"
	"unsafe"
)

// envelopeMPI is the number of bytes before a message: its length and the serial of its Comm, 8 bytes each in native order. Bytes
// beyond a piece follow in messages with the same tag, which MPI keeps in order.
const envelopeMPI = 16

// address identifies the receiver of a message in this process.
type address struct {
	link      *link
	serial    int64
	from, tag int
}

// sending is a message that MPI may still be reading.
type sending struct {
	req C.MPI_Request
	buf block
	l   *link // nil for a notice
}

// mail has the messages in transit of this process.
type mail struct {
	sends []sending
	early map[address][][]byte // messages received before the matching Recv was called
	kept  int                  // number of bytes of idle
	idle  []block              // freed buffers of large messages, for the next ones, so that their pages need not be made again
}

// block is C memory of a message.
type block struct {
	p    unsafe.Pointer
	size int
}

func (b block) bytes(n int) []byte { return unsafe.Slice((*byte)(b.p), n) }

// Buffers of 64 KiB to 1 MiB, with the envelope, are used again. A rank keeps at most maxIdle bytes of them.
const (
	minBlock = 64 << 10
	maxBlock = 1<<20 + envelopeMPI
	maxIdle  = 4 * maxBlock
)

// block returns memory of at least n bytes.
func (m *mail) block(n int) block {
	if n >= minBlock {
		for i, b := range m.idle {
			if b.size >= n {
				m.idle = slices.Delete(m.idle, i, i+1)
				m.kept -= b.size
				return b
			}
		}
	}
	return block{C.malloc(C.size_t(max(n, 1))), n}
}

func (m *mail) release(b block) {
	if b.size < minBlock || b.size > maxBlock || m.kept+b.size > maxIdle {
		C.free(b.p)
		return
	}
	m.idle = append(m.idle, b)
	m.kept += b.size
}

// close frees the buffers that are kept.
func (m *mail) close() {
	for _, b := range m.idle {
		C.free(b.p)
	}
	m.idle = nil
}

// reap frees the buffers of completed sends and lets MPI progress.
func (m *mail) reap(k *C.control) {
	if len(m.sends) == 0 {
		return
	}
	var code C.int
	left := m.sends[:0]
	for _, s := range m.sends {
		if C.glue_test(&s.req, k, 1, 1, &code) == C.DONE {
			m.release(s.buf)
		} else {
			left = append(left, s)
		}
	}
	clear(m.sends[len(left):])
	m.sends = left
}

// keep stores a message for a later Recv of this rank.
func (m *mail) keep(at address, b []byte) { m.early[at] = append(m.early[at], b) }

func (r *rank) checkMessage(peer, tag int) error {
	if err := r.checkRank("rank", peer); err != nil {
		return err
	}
	if tag < 0 || tag > r.e.tagMax {
		return r.usage("tag %d, want 0 ... %d", tag, r.e.tagMax)
	}
	return nil
}

func (r *rank) Send(ctx context.Context, to, tag int, b []byte) error {
	return r.call(ctx, func() error { return r.deliver(to, tag, b) })
}

// deliver does the work of Send. It runs on a thread that may call MPI.
func (r *rank) deliver(to, tag int, b []byte) error {
	if err := r.checkMessage(to, tag); err != nil {
		return err
	}
	if to == r.rank {
		r.e.keep(address{r.link, r.serial, to, tag}, append([]byte{}, b...))
		return nil
	}
	n := min(len(b), r.e.opts.Piece-envelopeMPI)
	buf := r.e.block(envelopeMPI + n)
	copy(buf.bytes(envelopeMPI + n)[envelopeMPI:], b[:n])
	if err := r.post(buf, n, len(b), to, tag); err != nil {
		return err
	}
	for b = b[n:]; len(b) > 0; b = b[n:] {
		n = min(len(b), r.e.opts.Piece)
		if err := r.send(block{C.CBytes(b[:n]), n}, n, to, tag); err != nil {
			return err
		}
	}
	return nil
}

// post sends the first n bytes of a message of size bytes. They follow the space for the envelope in buf.
func (r *rank) post(buf block, n, size, to, tag int) error {
	b := buf.bytes(envelopeMPI + n)
	binary.NativeEndian.PutUint64(b, uint64(size))
	binary.NativeEndian.PutUint64(b[8:], uint64(r.serial))
	return r.send(buf, len(b), to, tag)
}

func (l *link) send(b block, n, to, tag int) error {
	s := sending{buf: b, l: l}
	if err := l.e.mpi("MPI_Isend", C.msg_send(b.p, C.int(n), C.int(to), C.int(tag), l.c, &s.req)); err != nil {
		return err
	}
	l.e.sends = append(l.e.sends, s)
	l.tidy.sent++
	return nil
}

func (r *rank) Recv(ctx context.Context, from, tag int) (b []byte, err error) {
	err = r.call(ctx, func() error {
		m, err := r.receive(ctx, from, tag)
		if err != nil {
			return err
		}
		if b = m.b; m.buf.p != nil {
			b = append([]byte{}, b...)
			r.e.release(m.buf)
		}
		return nil
	})
	return b, err
}

// received is a message. If it is in C memory, buf is this memory.
type received struct {
	b   []byte
	buf block
}

// receive does the work of Recv. It runs on a thread that may call MPI.
func (r *rank) receive(ctx context.Context, from, tag int) (received, error) {
	if err := r.checkMessage(from, tag); err != nil {
		return received{}, err
	}
	want := address{r.link, r.serial, from, tag}
	for {
		if len(r.e.early) > 0 {
			if q := r.e.early[want]; len(q) > 0 {
				if r.e.early[want] = q[1:]; len(q) == 1 {
					delete(r.e.early, want)
				}
				return received{b: q[0]}, nil
			}
		}
		// If the message is for another Comm of the link, keep it.
		serial, m, err := r.message(ctx, from, tag)
		if err != nil {
			return received{}, err
		}
		if serial == r.serial {
			return m, nil
		}
		at := want
		at.serial = serial
		r.e.keep(at, append([]byte{}, m.b...))
		if m.buf.p != nil {
			r.e.release(m.buf)
		}
	}
}

// message receives the next message of a rank, for any Comm of the link.
func (l *link) message(ctx context.Context, from, tag int) (serial int64, m received, err error) {
	first, n, err := l.recv(ctx, from, tag)
	if err != nil {
		return 0, m, err
	}
	b := first.bytes(n)
	size := int(binary.NativeEndian.Uint64(b))
	serial = int64(binary.NativeEndian.Uint64(b[8:]))
	b = b[envelopeMPI:]
	if len(b) == size {
		return serial, received{b, first}, nil
	}
	m.b = append(make([]byte, 0, size), b...)
	l.e.release(first)
	for len(m.b) < size {
		next, n, err := l.recv(ctx, from, tag)
		if err != nil {
			return 0, m, err
		}
		m.b = append(m.b, next.bytes(n)...)
		l.e.release(next)
	}
	return serial, m, nil
}

// recv receives one MPI message of n bytes. The caller must release the memory.
func (l *link) recv(ctx context.Context, from, tag int) (buf block, _ int, _ error) {
	var flag, n C.int
	var m C.MPI_Message
	err := l.e.poll(ctx, waiting{byMPI: true}, func() (bool, error) {
		for try := range 64 {
			if err := l.e.mpi("MPI_Improbe", C.msg_probe(C.int(from), C.int(tag), l.c, &flag, &n, &m)); err != nil || flag != 0 {
				return flag != 0, err
			}
			if try > 8 {
				C.glue_yield()
			}
		}
		return false, nil
	})
	if err != nil {
		return block{}, 0, err
	}
	buf = l.e.block(int(n))
	var req C.MPI_Request
	if err := l.e.mpi("MPI_Imrecv", C.msg_recv(buf.p, n, &m, &req)); err != nil {
		return block{}, 0, err
	}
	l.tidy.received++
	if err := l.e.wait(ctx, &req, false); err != nil {
		l.tidy.left = append(l.tidy.left, leftover{req, noHeader}) // MPI may still write to buf
		l.e.live++
		return block{}, 0, err
	}
	return buf, int(n), nil
}
