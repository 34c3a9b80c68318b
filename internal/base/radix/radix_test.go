package radix

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ key, order int64 }

// TestSort compares with a stable sort of the standard library.
func TestSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, width := rapid.IntRange(0, 3000).Draw(t, "n"), rapid.IntRange(0, 63).Draw(t, "bits")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		list := make([]item, n)
		for i := range list {
			list[i] = item{int64(r.Uint64()>>(63-width)) + math.MinInt64>>1, int64(i)}
			if width == 63 {
				list[i].key = int64(r.Uint64())
			}
		}
		if rapid.Bool().Draw(t, "nearly sorted") {
			slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.key, b.key) })
			if n > 0 {
				list[0], list[n-1] = list[n-1], list[0]
			}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.key, b.key) })
		Sort(list, func(x *item) int64 { return x.key })
		if !slices.Equal(list, want) {
			t.Fatalf("%d keys of %d bits are in the wrong order", n, width)
		}
	})
	ends := []item{{math.MaxInt64, 0}, {math.MinInt64, 1}}
	if Sort(ends, func(x *item) int64 { return x.key }); ends[0].order != 1 {
		t.Error("the smallest and the largest key are in the wrong order")
	}
}
