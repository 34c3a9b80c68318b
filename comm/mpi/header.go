//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"blobio/comm"
	"blobio/internal/comm/calls"
)

const (
	fixedWords = 7
	// freeWords is the number of words for the elements of a short Allreduce or of AlltoallvMin. It is constant, so that the counts of
	// all ranks in the MPI call are equal even if the ranks' calls do not match.
	freeWords = 8
	headWords = fixedWords + freeWords
)

// header implements rendezvous by a small MPI reduction.
type header struct {
	l     *link
	words *[2 * headWords]C.int64_t // C memory; one half is sent, the other received
}

// short reports whether the elements of a reduction fit in the header.
func short(k kind, op comm.Op, n int) bool {
	return (k == kAllreduce || k == kAlltoallv) && (op == comm.Max || op == comm.Min) && n <= freeWords
}

// turn returns the mask for an XOR before and after a maximum: -1 for Min, because ^x reverses the order of numbers, and
// otherwise 0.
func turn(op comm.Op) int64 {
	if op == comm.Min {
		return -1
	}
	return 0
}

func (h *header) meet(ctx context.Context, m mark, data []byte, stay bool) (int64, error) {
	if k, op := kindOf(m.sig), opOf(m.sig); short(k, op, int(m.elems)) {
		for i, x := range numbers(data) {
			h.words[fixedWords+i] = C.int64_t(x ^ turn(op))
		}
	}
	call, not := int64(math.MinInt64), int64(math.MinInt64)
	if c := m.sig >> callShift; c != 0 {
		call, not = c, -c
	}
	in := [fixedWords]int64{step(m.sig), -step(m.sig), m.elems, -m.elems, m.n, call, not}
	out, err := h.greatest(ctx, in[:], stay)
	if err != nil {
		return 0, err
	}
	low, high := mark{sig: -out[1], elems: -out[3]}, mark{sig: out[0], elems: out[2]}
	if low == high && out[5] != math.MinInt64 {
		low.sig, high.sig = low.sig|-out[6]<<callShift, high.sig|out[5]<<callShift
	}
	if low != high {
		return 0, &difference{low: low, high: high}
	}
	return out[4], nil
}

// greatest returns the maximum of each word over all ranks. v has at most headWords words.
func (h *header) greatest(ctx context.Context, v []int64, stay bool) ([]int64, error) {
	for i, x := range v {
		h.words[i] = C.int64_t(x)
	}
	var req C.MPI_Request
	if err := h.l.e.mpi("MPI_Iallreduce", C.coll_allreduce(&h.words[0], &h.words[headWords], headWords, C.int(comm.Max), h.l.c, &req)); err != nil {
		return nil, err
	}
	if err := h.l.complete(ctx, &req, aHeader, stay); err != nil {
		return nil, err
	}
	all := make([]int64, len(v))
	for i := range all {
		all[i] = int64(h.words[headWords+i])
	}
	return all, nil
}

func (h *header) fits(int64) bool   { return false }
func (h *header) room(int64) []byte { return nil }
func (h *header) left(int) []byte   { return nil }

func (h *header) fold(k kind, op comm.Op, res []int64) bool {
	if !short(k, op, len(res)) {
		return false
	}
	for i := range res {
		res[i] = int64(h.words[headWords+fixedWords+i]) ^ turn(op)
	}
	return true
}

func (h *header) common(ctx context.Context, bits uint64, stay bool) (uint64, error) {
	in, out := &h.words[0], &h.words[headWords]
	*in = C.int64_t(bits)
	var req C.MPI_Request
	if err := h.l.e.mpi("MPI_Iallreduce", C.coll_allreduce(in, out, 1, C.OP_AND, h.l.c, &req)); err != nil {
		return 0, err
	}
	err := h.l.complete(ctx, &req, noHeader, stay)
	return uint64(*out), err
}

func (h *header) lengths(ctx context.Context, n int) ([]int64, error) {
	in, out := alloc(8), alloc(8*h.l.size)
	in.int64s(1)[0] = int64(n)
	var req C.MPI_Request
	err := h.l.finish(ctx, "MPI_Iallgather", C.coll_allgather64(in.int64p(), out.int64p(), h.l.c, &req), &req)
	if err != nil {
		return nil, err
	}
	defer free(in, out)
	return slices.Clone(out.int64s(h.l.size)), nil
}

func (h *header) memory(context.Context, int) ([]byte, error) { return nil, nil }

const nameWords = 3

// name finds the lowest rank in each of the two collectives of d, and the name of that rank's operation. After an error d is
// unchanged.
func (h *header) name(ctx context.Context, m mark, d *difference, stay bool) {
	const each = 1 + nameWords
	world := int64(h.l.e.world.rank)
	keys := [2]int64{d.key(d.low), d.key(d.high)}
	var first [2]int64
	for k := range keys {
		if first[k] = math.MinInt64; d.key(m) == keys[k] {
			first[k] = -world
		}
	}
	won, err := h.greatest(ctx, first[:], stay)
	if err != nil {
		return
	}
	var words [2 * each]int64
	for k := range keys {
		if d.who[k].rank = -won[k]; first[k] != won[k] {
			continue
		}
		var text [8 * nameWords]byte
		copy(text[:], calls.Of(ctx))
		words[each*k] = m.elems
		for i := range nameWords {
			words[each*k+1+i] = int64(binary.BigEndian.Uint64(text[8*i:]))
		}
	}
	if won, err = h.greatest(ctx, words[:], stay); err != nil {
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
