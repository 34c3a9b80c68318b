//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"blobio/comm"
)

// seat returns the state of one of n processes of a node. In this test the processes are goroutines.
func seat(arena []byte, me, n int) *node {
	nd := newNode()
	nd.arena, nd.me, nd.n = arena, me, n
	nd.own = nd.bell(me)
	return nd
}

// TestBoard: in each round, ranks at a board see the slots of all ranks, even when the counters wrap, whether ranks sleep or
// not.
func TestBoard(t *testing.T) {
	if job != nil {
		return
	}
	const rounds = 3000
	for _, n := range []int{1, 2, 3, 7} {
		for _, first := range []uint32{0, math.MaxUint32 - rounds/2, math.MaxInt32 - rounds/2} {
			mem := make([]byte, boardBytes(n))
			arena, place := make([]byte, arenaHead+n*cacheLine), make([]int32, n)
			for i := range place {
				place[i] = int32(i)
			}
			errs := make([]error, n)
			var wg, ready sync.WaitGroup
			ready.Add(n)
			for me := range n {
				wg.Go(func() {
					b := newBoard(mem, &Engine{node: seat(arena, me, n)}, place, me)
					b.round = first
					b.slot(first, me).came.Store(first - 1)
					b.slot(first+1, me).came.Store(first)
					ready.Done()
					ready.Wait()
					errs[me] = visit(b, rounds)
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

func visit(b *board, rounds int) error {
	for i := range rounds {
		part := func(j int) []byte { return bytes.Repeat([]byte{byte(i), byte(j)}, (i+j)%50) }
		b.come(mark{sig(kAllgather, comm.Sum, 0), int64(i), int64(i + b.me)}, part(b.me))
		if b.gather() != nil {
			b.sleepers().Add(1)
			for s := b.missing(0); s != nil; s = b.missing(0) {
				b.e.node.sleep(&s.came, b.round, 0, 0, int64(time.Hour))
			}
			b.sleepers().Add(^uint32(0))
		}
		b.round++
		if most, err := b.judge(); err != nil || most != int64(i+b.n-1) {
			return fmt.Errorf("round %d: greatest %d, error %v", i, most, err)
		}
		for j := range b.n {
			if got := b.left(j); !bytes.Equal(got, part(j)) {
				return fmt.Errorf("round %d: rank %d left %x, want %x", i, j, got, part(j))
			}
		}
	}
	return nil
}
