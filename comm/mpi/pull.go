//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"unsafe"
)

// What is too long for a board is read by the ranks of a node from where it is: each leaves the address and the length of what it has,
// and keeps it until all have met again.

// pulls says whether ranks read from each other.
func (r *rank) pulls() bool { return r.board != nil && (r.size == 1 || r.e.node.pull) }

// lent are the address and the length of what a rank lends in the last round, if it is too long for the board.
func (r *rank) lent(rank int) (at uint64, n int) {
	s := r.board.last(rank)
	return *(*uint64)(s.data()), int(s.bytes)
}

// pull fills b from the memory of a rank.
func (r *rank) pull(rank int, at uint64, b []byte) error {
	if err := r.e.node.read(r.e.node.bell(int(r.place[rank])), at, b); err != nil {
		return r.e.failRank(err)
	}
	return nil
}

// returned ends a loan: all have read. A rank that gives up here has come, so that others may complete the round after its caller has
// changed what they read: they fail with it.
func (r *rank) returned(ctx context.Context) error {
	err := r.meet(ctx, mark{}, nil, false)
	if err != nil {
		r.board.revoked().Store(1)
	} else if r.board.revoked().Load() != 0 {
		err = r.e.awaitNotice(ctx)
	}
	r.e.loan = nil
	return err
}

// collectNear reads what is too long on the board: on root, or on all if root < 0.
func (r *rank) collectNear(ctx context.Context, root int, b []byte) (parts [][]byte, err error) {
	if root < 0 || root == r.rank {
		parts = make([][]byte, r.size)
		for k := range parts {
			i := (r.rank + k) % r.size // not all from the same
			at, n := r.lent(i)
			parts[i] = r.e.room(n)
			if i == r.rank {
				copy(parts[i], b)
			} else if left := r.board.left(i); left != nil {
				copy(parts[i], left)
			} else if err := r.pull(i, at, parts[i]); err != nil {
				return nil, err
			}
		}
	}
	return parts, r.returned(ctx)
}

// A row is what a rank gives to Alltoallv on a board: the address and the length of the part for each rank, 8 bytes each, and behind
// these the parts themselves if there is room for all.
const rowWords = 2

// alltoallNear is Alltoallv of ranks that have a board.
func (r *rank) alltoallNear(ctx context.Context, b [][]byte) ([][]byte, error) {
	if len(b) == 0 {
		b = make([][]byte, r.size)
	}
	head, total := 8*rowWords*r.size, 0
	for _, x := range b {
		total += len(x)
	}
	if most := head + min(total, r.board.area); cap(r.e.row) < most {
		r.e.row = make([]byte, most)
	}
	row := r.e.row[:head]
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&row[0])), rowWords*r.size)
	for i, x := range b {
		words[rowWords*i], words[rowWords*i+1] = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(x)))), uint64(len(x))
	}
	if r.board.fits(int64(head + total)) {
		for _, x := range b {
			row = append(row, x...)
		}
	}
	r.e.loans = b
	most, err := r.confer(ctx, mark{sig: sig(kAlltoallv, 0, 0) | within(ctx), n: int64(head + total)}, row, false)
	if err != nil {
		return nil, err
	}
	if r.board.fits(most) {
		r.e.loan, r.e.loans = nil, nil
		return r.copies(func(i int) []byte { return r.partOf(r.board.left(i)) }), nil
	}
	out := make([][]byte, r.size)
	for k := range out {
		i := (r.rank + k) % r.size
		if i == r.rank {
			out[i] = append(r.e.room(len(b[i]))[:0], b[i]...)
			continue
		}
		entry := make([]uint64, rowWords)
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&entry[0])), 8*rowWords)
		if left := r.board.left(i); len(left) >= head {
			copy(raw, left[8*rowWords*r.rank:])
		} else if at, _ := r.lent(i); true {
			if err := r.pull(i, at+uint64(8*rowWords*r.rank), raw); err != nil {
				return nil, err
			}
		}
		out[i] = r.e.room(int(entry[1]))
		if err := r.pull(i, entry[0], out[i]); err != nil {
			return nil, err
		}
	}
	err = r.returned(ctx)
	r.e.loans = nil
	if err != nil {
		return nil, err
	}
	return out, nil
}

// partOf is the part of this rank in a row with all parts.
func (r *rank) partOf(row []byte) []byte {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&row[0])), rowWords*r.size)
	at := 8 * rowWords * r.size
	for i := range r.rank {
		at += int(words[rowWords*i+1])
	}
	n := int(words[rowWords*r.rank+1])
	return row[at : at+n]
}
