//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"blobio/comm"
)

func fresh[T any](*T) *T { return new(T) }

// seat is one of n processes of a node, all of which are goroutines here.
func seat(arena []byte, me, n int) *node {
	nd := newNode()
	nd.arena, nd.me, nd.n = arena, me, n
	nd.own = nd.bell(me)
	return nd
}

// TestBoard: ranks that meet at a board all see what each left for that round, also where its counters turn over; some sleep,
// some do not.
func TestBoard(t *testing.T) {
	if job != nil {
		return
	}
	const rounds = 3000
	for _, n := range []int{1, 2, 3, 7} {
		for _, first := range []uint32{0, math.MaxUint32 - rounds/2, math.MaxInt32 - rounds/2} {
			mem := make([]byte, boardBytes(n))
			binary.NativeEndian.PutUint32(mem, first*uint32(n))
			binary.NativeEndian.PutUint32(mem[cacheLine:], first)
			arena, place := make([]byte, arenaHead+n*cacheLine), make([]int32, n)
			for i := range place {
				place[i] = int32(i)
			}
			errs := make([]error, n)
			var wg sync.WaitGroup
			for me := range n {
				wg.Go(func() {
					b := newBoard(mem, seat(arena, me, n), place, me)
					b.round = first
					l := &link{e: &Engine{node: b.node}, rank: me, size: n, board: b}
					l.head = fresh(l.head)
					errs[me] = visit(&rank{link: l}, rounds)
				})
			}
			wg.Wait()
			for me, err := range errs {
				if err != nil {
					t.Fatalf("rank %d of %d from round %d: %v", me, n, first, err)
				}
			}
		}
	}
}

func visit(r *rank, rounds int) error {
	b := r.board
	for i := range rounds {
		part := func(j int) []byte { return bytes.Repeat([]byte{byte(i), byte(j)}, (i+j)%50) }
		r.fill(kAllgather, comm.Sum, 0, i, i+r.rank)
		if !b.come(r.head[:headWords], part(r.rank)) {
			for awake := r.rank * 100; !r.e.node.glance(b.turn(), b.round, awake, r.rank); awake = 0 {
				if r.e.node.sleep(b.turn(), b.round, 0, 0, lastNap) {
					break
				}
			}
			b.round++
		}
		r.greatest()
		if most, err := r.judge(); err != nil || most != int64(i+r.size-1) {
			return fmt.Errorf("round %d: greatest %d, error %v", i, most, err)
		}
		for j := range r.size {
			if got := b.left(j); !bytes.Equal(got, part(j)) {
				return fmt.Errorf("round %d: rank %d left %x, want %x", i, j, got, part(j))
			}
		}
	}
	return nil
}
