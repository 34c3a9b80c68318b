//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/comm/calls"
)

// A rendezvous begins each collective of a link's ranks. It has two implementations. A header is a small MPI reduction. A board
// is shared memory of one node, and replaces small MPI collectives. The rest of the package uses boards and their memory only by
// these methods. Methods with a context are collective and run on a thread that may call MPI.
type rendezvous interface {
	// meet waits for all ranks and compares their marks. It stores data for the other ranks if they fit. It returns the maximum n
	// of the marks, or a *difference if the marks do not match.
	meet(ctx context.Context, m mark, data []byte, stay bool) (most int64, err error)
	// name adds ranks and operations to a difference. m is the mark of this rank.
	name(ctx context.Context, m mark, d *difference, stay bool)
	// fits reports whether meet stores n bytes of each rank. left returns the bytes that a rank stored in the last meet; they are
	// valid until the next one.
	fits(n int64) bool
	// room returns the place for n bytes of the next meet, or nil if they do not fit. A caller may fill it and pass it to meet.
	room(n int64) []byte
	left(rank int) []byte
	// fold reduces the numbers that the ranks stored in the last meet. It returns false if they did not fit.
	fold(k kind, op comm.Op, res []int64) bool
	// common returns the bits that all ranks have set.
	common(ctx context.Context, bits uint64, stay bool) (uint64, error)
	// lengths returns the number n of each rank.
	lengths(ctx context.Context, n int) ([]int64, error)
	// memory makes memory that all ranks share. It returns nil on all ranks if one rank cannot get it.
	memory(ctx context.Context, size int) ([]byte, error)
}

type mark struct {
	sig, elems int64 // equal on all ranks, except that some ranks may not name the operation
	n          int64
}

// kind is a collective.
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
	kLeave // the collective in Finalize
)

var kindNames = [...]string{"Barrier", "Bcast", "Gather", "Allgather", "Alltoallv", "AllreduceInt64", "ExscanInt64",
	"Split", "SplitNode", "NewWindow", "Fence", "Free", "Share", "SharedMemory", "Fence of memory", "Finalize"}

// sig packs kind, op and root (or the number of a window) into 8, 8 and 32 bits. In a mark, 15 bits of the caller's operation are
// above these fields.
func sig(k kind, op comm.Op, root int) int64 {
	return int64(k)<<40 | int64(op)<<32 | int64(uint32(root))
}

const callShift = 48

func kindOf(sig int64) kind  { return kind(sig >> 40) }
func opOf(sig int64) comm.Op { return comm.Op(sig >> 32 & 0xff) }

// within returns the bits of the caller's operation, or 0 if the operation has no name. 0 matches any operation.
func within(ctx context.Context) int64 {
	call := calls.Of(ctx)
	if call == "" {
		return 0
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(call) {
		h = (h ^ uint32(call[i])) * 16777619
	}
	return int64(1+(h^h>>15)%0x7fff) << callShift
}

// step returns sig without the bits of the operation.
func step(sig int64) int64 { return sig & (1<<callShift - 1) }

func sigString(s, elems int64) string {
	k, op, root := kindOf(s), opOf(s), int(uint32(s))
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

// difference is the error if ranks are in different collectives. low and high are the minima and maxima of the marks.
type difference struct {
	low, high mark
	who       [2]caller // the lowest rank with low and the lowest with high, and their operations
	named     bool
}

// caller is a rank in a collective.
type caller struct {
	rank  int64 // world rank
	elems int64
	call  string // the caller's operation, from comm.In
}

// Unwrap returns the class.
func (d *difference) Unwrap() error {
	if kindOf(d.high.sig) == kLeave {
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
		return fmt.Sprintf("rank %d is in %s", x.rank, calls.Within(x.call, sigString(sig, x.elems)))
	}
	return fmt.Sprintf("%v: %s, %s", d.Unwrap(), in(&d.who[0], d.low.sig), in(&d.who[1], d.high.sig))
}

// key returns the part of a mark in which the two collectives differ.
func (d *difference) key(m mark) int64 {
	switch {
	case step(d.low.sig) != step(d.high.sig):
		return step(m.sig)
	case d.low.elems != d.high.elems:
		return m.elems
	}
	return m.sig
}

// meet begins a collective. It runs on a thread that may call MPI. If the marks differ, it breaks the communication.
func (l *link) meet(ctx context.Context, m mark, data []byte, stay bool) (int64, error) {
	m.sig |= within(ctx)
	most, err := l.rendezvous.meet(ctx, m, data, stay)
	if d, ok := err.(*difference); ok {
		l.rendezvous.name(ctx, m, d, stay)
		err = l.e.fail(err, err)
	}
	return most, err
}

// begin calls meet for a call of the user.
func (l *link) begin(ctx context.Context, m mark, data []byte) (most int64, err error) {
	err = l.call(ctx, func() error {
		most, err = l.meet(ctx, m, data, false)
		return err
	})
	return most, err
}
