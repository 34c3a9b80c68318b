//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"

	"blobio/comm"
)

// kind is which collective.
type kind uint8

const (
	kBarrier kind = iota
	kBcast
	kGather
	kAllgather
	kAlltoallv
	kAllreduce
	kExscan
	kSplit
	kSplitNode
	kNewWindow
	kFence
	kFree
	kShare
	kMemory
	kMemoryFence
	kLeave // Finalize
)

var kindNames = [...]string{"Barrier", "Bcast", "Gather", "Allgather", "Alltoallv", "AllreduceInt64", "ExscanInt64",
	"Split", "SplitNode", "NewWindow", "Fence", "Free", "Share", "SharedMemory", "Fence of memory", "Finalize"}

// sig packs kind, op and root (or the number of a window): 8, 8 and 32 bits.
func sig(k kind, op comm.Op, root int) int64 {
	return int64(k)<<40 | int64(op)<<32 | int64(uint32(root))
}

func sigString(s, elems int64) string {
	k, op, root := kind(s>>40), comm.Op(s>>32&0xff), int(uint32(s))
	switch k {
	case kBcast, kGather:
		return fmt.Sprintf("%s with root %d", kindNames[k], root)
	case kAllreduce, kExscan:
		return fmt.Sprintf("%s %v of %d elements", kindNames[k], op, elems)
	case kFence, kFree:
		return fmt.Sprintf("%s of window %d", kindNames[k], root)
	}
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "an unknown collective"
}

const (
	fixedWords = 5
	// freeWords are elements of a short Allreduce that travel with the header. Their number does
	// not depend on the call, so that MPI never sees ranks with different counts.
	freeWords = 8
	headWords = fixedWords + freeWords
)

// header begins a collective, where MPI may be called. All ranks must give the same kind, op, root and elems; the
// result is the greatest n.
func (r *rank) header(ctx context.Context, k kind, op comm.Op, root int, elems, n int, stay bool) (int64, error) {
	return r.confer(ctx, mark{sig(k, op, root), int64(elems), int64(n)}, nil, stay)
}

// confer exchanges marks, where MPI may be called. On a board each rank also leaves data, or where they are.
func (r *rank) confer(ctx context.Context, m mark, data []byte, stay bool) (most int64, err error) {
	if r.board != nil {
		if err = r.meet(ctx, m, data, stay); err != nil {
			return 0, err
		}
		most, err = r.board.judge()
	} else {
		if err = r.exchange(ctx, m, stay); err != nil {
			return 0, err
		}
		most, err = r.judge()
	}
	if err != nil {
		return 0, r.e.fail(err, err)
	}
	return most, nil
}

// exchange puts the greatest of all ranks' words into the second half of r.head; those of a short Allreduce are in the first already.
func (r *rank) exchange(ctx context.Context, m mark, stay bool) error {
	for i, v := range [fixedWords]int64{m.sig, -m.sig, m.elems, -m.elems, m.n} {
		r.head[i] = C.int64_t(v)
	}
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Iallreduce", C.coll_allreduce(&r.head[0], &r.head[headWords], headWords, C.int(comm.Max), r.c, &req)); err != nil {
		return err
	}
	return r.complete(ctx, &req, aHeader, stay)
}

// judge returns the greatest n of a header, or how the calls of the ranks differ.
func (r *rank) judge() (int64, error) {
	out := r.head[headWords:]
	low, high := mark{sig: -int64(out[1]), elems: -int64(out[3])}, mark{sig: int64(out[0]), elems: int64(out[2])}
	if low != high {
		return 0, differ(low, high)
	}
	return int64(out[4]), nil
}

// differ is the error of ranks in different collectives.
func differ(low, high mark) error {
	class := comm.ErrMismatch
	if kind(high.sig>>40) == kLeave {
		class = comm.ErrExited
	}
	return fmt.Errorf("%w: %s and %s", class, sigString(low.sig, low.elems), sigString(high.sig, high.elems))
}

// begin is a header from the goroutine of the caller. On a board each rank also leaves data, or where they are.
func (r *rank) begin(ctx context.Context, k kind, op comm.Op, root int, elems, n int, data []byte) (most int64, err error) {
	m := mark{sig(k, op, root), int64(elems), int64(n)}
	if h := r.e.home; h.here() { // without what a closure costs
		defer h.mu.Unlock()
		if err := r.e.enter(ctx); err != nil {
			return 0, err
		}
		return r.confer(ctx, m, data, false)
	}
	return r.beginAway(ctx, m, data)
}

func (r *rank) beginAway(ctx context.Context, m mark, data []byte) (most int64, err error) {
	err = r.call(ctx, func() error {
		most, err = r.confer(ctx, m, data, false)
		return err
	})
	return most, err
}

// short is a whole Allreduce of at most freeWords elements by Max or Min, of ranks without a board.
func (r *rank) short(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	turn := int64(0)
	if op == comm.Min {
		turn = -1 // ^x turns the order around
	}
	for i, x := range v {
		r.head[fixedWords+i] = C.int64_t(x ^ turn)
	}
	if _, err := r.begin(ctx, kAllreduce, op, 0, len(v), 0, nil); err != nil {
		return nil, err
	}
	res := make([]int64, len(v))
	for i := range res {
		res[i] = int64(r.head[headWords+fixedWords+i]) ^ turn
	}
	return res, nil
}

// common returns the bits that all ranks have set.
func (r *rank) common(ctx context.Context, bits uint64, stay bool) (uint64, error) {
	in, out := &r.head[0], &r.head[headWords]
	*in = C.int64_t(bits)
	if b := r.board; b != nil {
		if err := r.meet(ctx, mark{n: int64(bits)}, nil, stay); err != nil {
			return 0, err
		}
		all := ^uint64(0)
		for j := range b.n {
			all &= uint64(b.last(j).n)
		}
		return all, nil
	}
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Iallreduce", C.coll_allreduce(in, out, 1, C.OP_AND, r.c, &req)); err != nil {
		return 0, err
	}
	err := r.complete(ctx, &req, noHeader, stay)
	return uint64(*out), err
}
