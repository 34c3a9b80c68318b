package decomp_test

import (
	"errors"
	"math"
	"testing"

	"blobio/decomp"
)

// TestMaxRanks: an absurd number of ranks takes no memory.
func TestMaxRanks(t *testing.T) {
	for _, n := range []int{decomp.MaxRanks + 1, math.MaxInt} {
		b := decomp.NewBuilder([]int64{4}, n)
		if m, err := b.Map(); !errors.Is(err, decomp.ErrUsage) {
			t.Errorf("%d ranks: %v, %v", n, m, err)
		}
	}
}
