//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// rank is the Comm of one process.
type rank struct {
	*link
	serial int64 // number of this Comm in the link
}

// link is an MPI communicator. Comms with the same ranks in the same order share a link, because MPI has only some thousands of
// communicators and Comms are never freed.
type link struct {
	e          *Engine
	c          C.MPI_Comm
	rank, size int

	rendezvous
	local     bool    // all ranks are on this node, and the link has a board
	header    *header // every link has a header, even if it has a board
	windows   int
	comms     int64      // number of Comms made so far; their serials are lower
	divisions []division // results of Split and SplitNode; the same list on all ranks
	shared    shared
	tidy      tidy
	place     []int32 // process index on this node of each rank; -1: on another node
}

var _ comm.Comm = (*rank)(nil)

func (e *Engine) newLink(c C.MPI_Comm) (*link, error) {
	var n, size, tagMax C.int
	if err := check("MPI_Comm_rank", C.comm_info(c, &n, &size, &tagMax)); err != nil {
		return nil, err
	}
	e.tagMax = int(tagMax)
	l := &link{e: e, c: c, rank: int(n), size: int(size)}
	l.header = &header{l, (*[2 * headWords]C.int64_t)(C.calloc(2*headWords, 8))}
	l.rendezvous = l.header
	e.links = append(e.links, l)
	e.live++
	return l, nil
}

// newComm makes another Comm of the link. All ranks must make the link's Comms in the same order.
func (l *link) newComm() *rank {
	l.comms++
	return &rank{l, l.comms - 1}
}

func (r *rank) Rank() int { return r.rank }
func (r *rank) Size() int { return r.size }

// call runs f on a thread that may call MPI. It fails if the communication is broken.
func (l *link) call(ctx context.Context, f func() error) error {
	return l.e.home.do(func() error {
		if err := l.e.enter(ctx); err != nil {
			return err
		}
		return f()
	})
}

// usage breaks the communication because of a bad argument. Otherwise the other ranks would wait forever.
func (l *link) usage(format string, args ...any) error {
	return l.e.failRank(fault.Usage("%s", fmt.Sprintf(format, args...)))
}

func (l *link) checkRank(name string, n int) error {
	if n < 0 || n >= l.size {
		return l.usage("%s %d, want 0 ... %d", name, n, l.size-1)
	}
	return nil
}

// checkRoot breaks the communication if root is not a rank.
func (l *link) checkRoot(ctx context.Context, root int) error {
	if root >= 0 && root < l.size {
		return nil
	}
	return l.call(ctx, func() error { return l.checkRank("root", root) })
}
