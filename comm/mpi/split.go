//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"blobio/comm"
)

// division has this rank's arguments of a Split or SplitNode, and the resulting link.
type division struct {
	k          kind
	color, key int
	link       *link // nil if the color is negative
}

// maxDivisions is the maximum number of divisions that a link remembers; the ranks compare them as
// bits of a word.
const maxDivisions = 64

func (r *rank) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	return r.split(ctx, division{k: kSplit, color: max(color, -1), key: key}, func(out *C.MPI_Comm) error {
		return r.byColor(max(color, -1), key, out)
	})
}

func (r *rank) SplitNode(ctx context.Context) (comm.Comm, error) {
	if r.local {
		if _, err := r.begin(ctx, mark{sig: sig(kSplitNode, 0, 0)}, nil); err != nil {
			return nil, err
		}
		return r.link.newComm(), nil
	}
	return r.split(ctx, division{k: kSplitNode}, func(out *C.MPI_Comm) error {
		if per := r.e.opts.RanksPerNode; per > 0 {
			// Divide by world rank, so that the ranks of a node are in the same arena.
			return r.byColor(r.e.world.rank/per, r.rank, out)
		}
		ok := uint64(0)
		if C.comm_split_node(r.c, out) == C.MPI_SUCCESS && !r.e.failing("node") {
			ok = 1
		}
		all, err := r.common(ctx, ok, true)
		if err != nil || all == 1 {
			return err
		}
		if ok == 1 {
			r.e.live++ // the communicator cannot be freed, because not all ranks have it
		}
		return r.byHost(ctx, out)
	})
}

func (l *link) byColor(color, key int, out *C.MPI_Comm) error {
	return l.e.mpi("MPI_Comm_split", C.comm_split(l.c, C.int(color), C.int(key), out))
}

// byHost divides the ranks by host name, if MPI failed to find the ranks that share memory.
func (l *link) byHost(ctx context.Context, out *C.MPI_Comm) error {
	buf := (*C.char)(C.calloc(1, C.HOST_NAME+1))
	defer C.free(unsafe.Pointer(buf))
	var n C.int
	if err := l.e.mpi("MPI_Get_processor_name", C.host_name(buf, &n)); err != nil {
		return err
	}
	mine := C.GoBytes(unsafe.Pointer(buf), n)
	names, err := l.gatherv(ctx, -1, mine)
	if err != nil {
		return err
	}
	if _, err := l.common(ctx, 1, true); err != nil { // from here on, either all ranks divide or none does
		return err
	}
	return l.byColor(slices.IndexFunc(names, func(b []byte) bool { return bytes.Equal(b, mine) }), l.rank, out)
}

// split reuses an earlier division if all ranks gave the same arguments. Otherwise it calls MPI.
func (r *rank) split(ctx context.Context, d division, byMPI func(out *C.MPI_Comm) error) (c comm.Comm, err error) {
	err = r.call(ctx, func() error {
		if d.color > math.MaxInt32 || d.key > math.MaxInt32 || d.key < math.MinInt32 {
			return r.usage("color %d and key %d, want 32-bit numbers", d.color, d.key)
		}
		if _, err := r.meet(ctx, mark{sig: sig(d.k, 0, 0)}, nil, true); err != nil {
			return err
		}
		known := uint64(0)
		if len(r.divisions) > 0 {
			for i, x := range r.divisions {
				if d.k == x.k && d.color == x.color && (d.key == x.key || d.color < 0) {
					known |= 1 << i
				}
			}
			var err error
			if known, err = r.common(ctx, known, true); err != nil {
				return err
			}
		}
		if known != 0 {
			d = r.divisions[bits.TrailingZeros64(known)]
		} else {
			var out C.MPI_Comm
			if err := byMPI(&out); err != nil {
				return err
			}
			if d.color >= 0 {
				var err error
				if d.link, err = r.e.newLink(out); err == nil {
					err = d.link.findPlaces()
				}
				if err == nil && (r.local || d.k == kSplitNode) {
					err = d.link.giveBoard()
				}
				if err != nil {
					return r.e.failRank(err)
				}
				d.link.tidy.id = r.childID(out)
			}
			r.tidy.divided++
			if len(r.divisions) < maxDivisions {
				r.divisions = append(r.divisions, d)
			}
		}
		if d.link != nil {
			c = d.link.newComm()
		}
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// findPlaces finds out which ranks of a link are on this node.
func (l *link) findPlaces() error {
	place := l.e.node.place
	if place == nil {
		return nil
	}
	p := alloc(4 * l.size)
	defer free(p)
	if err := check("cannot get the ranks of a communicator", C.comm_places(l.c, l.e.world.c, C.int(l.size), p.intp())); err != nil {
		return err
	}
	l.place = make([]int32, l.size)
	for i, w := range p.ints(l.size) {
		l.place[i] = place[w]
	}
	return nil
}
