//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

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

// sig packs kind, op and root (or the number of a window): 8, 8 and 32 bits. Above them a mark has 15 bits of the caller's call.
func sig(k kind, op comm.Op, root int) int64 {
	return int64(k)<<40 | int64(op)<<32 | int64(uint32(root))
}

const callShift = 48

// within are the bits of the call that ctx is of; 0: it has no name, and goes with any.
func within(ctx context.Context) int64 {
	call := comm.CallOf(ctx)
	if call == "" {
		return 0
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(call) {
		h = (h ^ uint32(call[i])) * 16777619
	}
	return int64(1+(h^h>>15)%0x7fff) << callShift
}

// step is a sig without its call.
func step(sig int64) int64 { return sig & (1<<callShift - 1) }

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
	fixedWords = 7
	// freeWords are elements of a short Allreduce that travel with the header. Their number does
	// not depend on the call, so that MPI never sees ranks with different counts.
	freeWords = 8
	headWords = fixedWords + freeWords
)

// header begins a collective, where MPI may be called. All ranks must give the same kind, op, root and elems; the
// result is the greatest n.
func (r *rank) header(ctx context.Context, k kind, op comm.Op, root int, elems, n int, stay bool) (int64, error) {
	return r.confer(ctx, mark{sig(k, op, root) | within(ctx), int64(elems), int64(n)}, nil, stay)
}

// confer exchanges marks, where MPI may be called. On a board each rank also leaves data, if they are not too many.
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
	if d, ok := err.(*difference); ok {
		r.name(ctx, m, d, stay)
	}
	if err != nil {
		return 0, r.e.fail(err, err)
	}
	return most, nil
}

// exchange puts the greatest of all ranks' words into the second half of r.head; those of a short Allreduce are in the first already.
func (r *rank) exchange(ctx context.Context, m mark, stay bool) error {
	call, not := int64(math.MinInt64), int64(math.MinInt64)
	if c := m.sig >> callShift; c != 0 {
		call, not = c, -c
	}
	for i, v := range [fixedWords]int64{step(m.sig), -step(m.sig), m.elems, -m.elems, m.n, call, not} {
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
	if low == high && int64(out[5]) != math.MinInt64 {
		low.sig, high.sig = low.sig|-int64(out[6])<<callShift, high.sig|int64(out[5])<<callShift
	}
	if low != high {
		return 0, &difference{low: low, high: high}
	}
	return int64(out[4]), nil
}

// difference is the error of ranks in different collectives.
type difference struct {
	low, high mark
	who       [2]caller // of low and high
	named     bool
}

// caller is a rank in a collective.
type caller struct {
	rank  int64 // in the world
	elems int64
	call  string // of its caller, as comm.In names it
}

// Unwrap returns the class.
func (d *difference) Unwrap() error {
	if kind(d.high.sig>>40) == kLeave {
		return comm.ErrExited
	}
	return comm.ErrMismatch
}

// Error implements error.
func (d *difference) Error() string {
	if !d.named {
		return fmt.Sprintf("%v: %s and %s", d.Unwrap(), sigString(d.low.sig, d.low.elems), sigString(d.high.sig, d.high.elems))
	}
	in := func(x *caller, sig int64) string {
		return fmt.Sprintf("rank %d is in %s", x.rank, comm.Within(x.call, sigString(sig, x.elems)))
	}
	return fmt.Sprintf("%v: %s, %s", d.Unwrap(), in(&d.who[0], d.low.sig), in(&d.who[1], d.high.sig))
}

// nameWords are the words that a call's name has room in.
const nameWords = 3

// name finds for both collectives of a difference the lowest rank that is in it, and the call of its caller. All ranks come here, each with its mark. What
// fails leaves the difference as it is.
func (r *rank) name(ctx context.Context, m mark, d *difference, stay bool) {
	key := func(m mark) int64 {
		switch {
		case step(d.low.sig) != step(d.high.sig):
			return step(m.sig)
		case d.low.elems != d.high.elems:
			return m.elems
		}
		return m.sig
	}
	keys := [2]int64{key(d.low), key(d.high)}
	call := comm.CallOf(ctx)
	if b := r.board; b != nil {
		var at [2]int
		for j := b.n - 1; j >= 0; j-- {
			for k := range keys {
				if m := b.last(j).mark; key(m) == keys[k] {
					at[k], d.who[k].elems = j, m.elems
				}
			}
		}
		if len(call) > b.area || r.meet(ctx, mark{n: int64(r.e.world.rank)}, []byte(call), stay) != nil {
			return
		}
		for k, j := range at {
			d.who[k].rank, d.who[k].call = b.last(j).n, string(b.left(j))
		}
		d.named = true
		return
	}
	const each = 1 + nameWords
	var first [2]int64
	for k := range keys {
		if first[k] = math.MinInt64; key(m) == keys[k] {
			first[k] = -int64(r.e.world.rank)
		}
	}
	won, err := r.greatest(ctx, first[:], stay)
	if err != nil {
		return
	}
	var words [2 * each]int64
	for k := range keys {
		if d.who[k].rank = -won[k]; first[k] != won[k] {
			continue
		}
		var text [8 * nameWords]byte
		copy(text[:], call)
		words[each*k] = m.elems
		for i := range nameWords {
			words[each*k+1+i] = int64(binary.BigEndian.Uint64(text[8*i:]))
		}
	}
	if won, err = r.greatest(ctx, words[:], stay); err != nil {
		return
	}
	for k := range keys {
		var text []byte
		for _, x := range won[each*k+1 : each*(k+1)] {
			text = binary.BigEndian.AppendUint64(text, uint64(x))
		}
		d.who[k].elems, d.who[k].call = won[each*k], string(bytes.TrimRight(text, "\x00"))
	}
	d.named = true
}

// greatest returns the greatest of each word over all ranks, at most headWords of them, of ranks without a board.
func (r *rank) greatest(ctx context.Context, v []int64, stay bool) ([]int64, error) {
	for i, x := range v {
		r.head[i] = C.int64_t(x)
	}
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Iallreduce", C.coll_allreduce(&r.head[0], &r.head[headWords], headWords, C.int(comm.Max), r.c, &req)); err != nil {
		return nil, err
	}
	if err := r.complete(ctx, &req, aHeader, stay); err != nil {
		return nil, err
	}
	all := make([]int64, len(v))
	for i := range all {
		all[i] = int64(r.head[headWords+i])
	}
	return all, nil
}

// begin is a header from the goroutine of the caller. On a board each rank also leaves data, if they are not too many.
func (r *rank) begin(ctx context.Context, k kind, op comm.Op, root int, elems, n int, data []byte) (most int64, err error) {
	err = r.call(ctx, func() error {
		most, err = r.confer(ctx, mark{sig(k, op, root) | within(ctx), int64(elems), int64(n)}, data, false)
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
