package decomp

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// Scatter and Gather must agree with Clip for patterns with more runs than are flattened at a time.
func TestScatterGatherOfLongPatterns(t *testing.T) {
	_, m := fcase(t, 2000, 9, 3, true)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		for _, width := range []int{1, 2, 4, 8, 12} {
			r := rng.IntN(3)
			lo := rng.Int64N(m.Elems())
			hi := lo + 1 + rng.Int64N(m.Elems()-lo)
			pos := rng.Int64N(m.Count(r))
			pend := pos + 1 + rng.Int64N(m.Count(r)-pos)
			moves(t, m, r, lo, hi, pos, pend, width, 0, slices.Collect(m.Clip(r, lo, hi)))
		}
	}
}

func TestConcurrentSet(t *testing.T) {
	const ranks = 64
	cols := columns(5000, ranks, 9)
	b := NewBuilder([]int64{10, 5000}, ranks)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for r := w; r < ranks; r += 4 {
				if err := b.Set(r, levels(nil, cols[r], 5000, 10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	m := need(b.Map())
	for r := range ranks {
		if !slices.Equal(m.AppendReqs(nil, r), levels(nil, cols[r], 5000, 10)) {
			t.Errorf("rank %d differs", r)
		}
	}
	if c, err := m.Coverage(); err != nil || !c.Full() {
		t.Errorf("%+v, %v", c, err)
	}
}
