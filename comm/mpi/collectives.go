//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"slices"

	"blobio/comm"
)

func (r *rank) Barrier(ctx context.Context) error {
	_, err := r.begin(ctx, mark{sig: sig(kBarrier, 0, 0)}, nil)
	return err
}

func (r *rank) Share(ctx context.Context, v any) ([]any, error) {
	all := make([]any, r.size)
	all[r.rank] = v
	if _, err := r.begin(ctx, mark{sig: sig(kShare, 0, 0)}, nil); err != nil {
		return nil, err
	}
	return all, nil
}

func (r *rank) Bcast(ctx context.Context, root int, buf []byte) ([]byte, error) {
	if err := r.checkRoot(ctx, root); err != nil {
		return nil, err
	}
	if r.rank != root {
		buf = nil
	}
	size, err := r.begin(ctx, mark{sig: sig(kBcast, 0, root), n: int64(len(buf))}, buf)
	if err != nil {
		return nil, err
	}
	if r.fits(size) {
		if r.rank != root {
			buf = r.left(root)
		}
		return append(make([]byte, 0, len(buf)), buf...), nil
	}
	out := make([]byte, int(size))
	copy(out, buf)
	if err = r.call(ctx, func() error { return r.bcast(ctx, root, out) }); err != nil {
		return nil, err
	}
	return out, nil
}

// bcast calls MPI's broadcast, in pieces.
func (l *link) bcast(ctx context.Context, root int, buf []byte) error {
	piece := min(len(buf), l.e.opts.Piece)
	p := alloc(piece)
	for rest := buf; len(rest) > 0; {
		n := min(len(rest), piece)
		if l.rank == root {
			copy(p.bytes(n), rest)
		}
		var req C.MPI_Request
		if err := l.finish(ctx, "MPI_Ibcast", C.coll_bcast(p.p, C.int(n), C.int(root), l.c, &req), &req); err != nil {
			return err
		}
		if l.rank != root {
			copy(rest, p.bytes(n))
		}
		rest = rest[n:]
	}
	free(p)
	return nil
}

func (r *rank) Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error) {
	out, _, err := r.AlltoallvMin(ctx, b, nil)
	return out, err
}

// AlltoallvMin is Alltoallv with an AllreduceInt64 of up to 8 numbers by Min, for comm.AlltoallvMin.
func (r *rank) AlltoallvMin(ctx context.Context, b [][]byte, v []int64) (out [][]byte, least []int64, err error) {
	least = make([]int64, len(v))
	err = r.call(ctx, func() error {
		if len(v) > freeWords {
			return r.usage("AlltoallvMin of %d numbers, want at most %d", len(v), freeWords)
		}
		out, err = r.alltoall(ctx, b, v, least)
		return err
	})
	return out, least, err
}

// alltoall does the work of AlltoallvMin. It runs on a thread that may call MPI.
func (l *link) alltoall(ctx context.Context, b [][]byte, v, least []int64) ([][]byte, error) {
	if len(b) != 0 && len(b) != l.size {
		return nil, l.usage("Alltoallv has %d slices, want %d", len(b), l.size)
	}
	if len(b) == 0 {
		b = make([][]byte, l.size)
	}
	longest, total := 0, 8*int64(len(v)+l.size)
	for _, x := range b {
		longest, total = max(longest, len(x)), total+int64(len(x))
	}
	m := mark{sig: sig(kAlltoallv, comm.Min, 0), elems: int64(len(v))}
	if l.fits(8 * int64(len(v)+l.size)) {
		data := l.room(total)
		if data != nil {
			pack(data, v, b)
		} else {
			data = raw(v)
		}
		m.n = total
		most, err := l.meet(ctx, m, data, false)
		if err != nil {
			return nil, err
		}
		if l.fits(most) {
			l.fold(kAlltoallv, comm.Min, least)
			return l.unpacked(len(v)), nil
		}
	}
	m.n = int64(longest)
	most, err := l.meet(ctx, m, raw(v), false)
	if err != nil {
		return nil, err
	}
	l.fold(kAlltoallv, comm.Min, least)
	return l.alltoallv(ctx, b, most)
}

// pack writes v, the lengths of the messages to all ranks, and the messages.
func pack(room []byte, v []int64, b [][]byte) {
	at := 8 * (len(v) + len(b))
	lens := numbers(room[:at])[copy(numbers(room), v):]
	for i, x := range b {
		lens[i] = int64(len(x))
		at += copy(room[at:], x)
	}
}

// unpacked returns copies of the messages to this rank from what the ranks packed in the last rendezvous, with nv numbers.
func (l *link) unpacked(nv int) [][]byte {
	out := make([][]byte, l.size)
	for i := range out {
		p := l.left(i)
		at := 8 * int64(nv+l.size)
		lens := numbers(p[:at])[nv:]
		for _, n := range lens[:l.rank] {
			at += n
		}
		if n := lens[l.rank]; n > 0 {
			out[i] = bytes.Clone(p[at : at+n])
		}
	}
	return out
}

// alltoallv sends the messages by MPI. No message of any rank is longer than longest.
func (l *link) alltoallv(ctx context.Context, b [][]byte, longest int64) ([][]byte, error) {
	lin, lout := alloc(8*l.size), alloc(8*l.size)
	for i, x := range b {
		lin.int64s(l.size)[i] = int64(len(x))
	}
	var req C.MPI_Request
	err := l.finish(ctx, "MPI_Ialltoall", C.coll_alltoall64(lin.int64p(), lout.int64p(), l.c, &req), &req)
	if err != nil {
		return nil, err
	}
	lens := slices.Clone(lout.int64s(l.size))
	free(lin, lout)

	out := make([][]byte, l.size)
	for i := range out {
		out[i] = make([]byte, int(lens[i]))
	}
	portion := l.portion(longest, longest*int64(l.size))
	nin, din, nout, dout := alloc(4*l.size), alloc(4*l.size), alloc(4*l.size), alloc(4*l.size)
	for k := int64(0); k*portion < longest; k++ {
		sends := layout(nin.ints(l.size), din.ints(l.size), func(i int) int {
			from, to := cut(int64(len(b[i])), k, portion)
			return int(to - from)
		})
		recvs := layout(nout.ints(l.size), dout.ints(l.size), func(i int) int {
			from, to := cut(lens[i], k, portion)
			return int(to - from)
		})
		pin, pout := alloc(sends), alloc(recvs)
		rest := pin.bytes(sends)
		for _, x := range b {
			from, to := cut(int64(len(x)), k, portion)
			rest = rest[copy(rest, x[from:to]):]
		}
		var req C.MPI_Request
		err := l.finish(ctx, "MPI_Ialltoallv",
			C.coll_alltoallv(pin.p, nin.intp(), din.intp(), pout.p, nout.intp(), dout.intp(), l.c, &req), &req)
		if err != nil {
			return nil, err
		}
		rest = pout.bytes(recvs)
		for i, x := range out {
			from, to := cut(lens[i], k, portion)
			rest = rest[copy(x[from:to], rest):]
		}
		free(pin, pout)
	}
	free(nin, din, nout, dout)
	return out, nil
}
