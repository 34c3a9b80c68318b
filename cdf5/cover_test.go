package cdf5

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCover compares with a set of elements, and holds that ranges merge: the
// list is as short as can be.
func TestCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		c := newCover(2)
		var set [n]bool
		for range rapid.IntRange(0, 12).Draw(t, "adds") {
			lo := rapid.IntRange(0, n-1).Draw(t, "lo")
			hi := rapid.IntRange(lo+1, n).Draw(t, "hi")
			c.add(1, int64(lo), int64(hi))
			for i := lo; i < hi; i++ {
				set[i] = true
			}
		}
		var want []elemRange
		for i, in := range set {
			if in && (i == 0 || !set[i-1]) {
				want = append(want, elemRange{lo: int64(i)})
			}
			if in && (i == n-1 || !set[i+1]) {
				want[len(want)-1].hi = int64(i + 1)
			}
		}
		if !slices.Equal(c.vars[1], want) || c.total != len(want) {
			t.Fatalf("%v (total %d), want %v", c.vars[1], c.total, want)
		}
		lo := rapid.Int64Range(0, n).Draw(t, "gaps from")
		hi := rapid.Int64Range(lo, n).Draw(t, "gaps to")
		at := lo
		err := c.gaps(1, lo, hi, func(a, b int64) error {
			for ; at < a; at++ {
				if !set[at] {
					t.Fatalf("%d is a gap", at)
				}
			}
			for ; at < b; at++ {
				if set[at] {
					t.Fatalf("%d is no gap", at)
				}
			}
			return nil
		})
		for ; at < hi; at++ {
			if !set[at] {
				t.Fatalf("%d is a gap", at)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestCoverIsBounded: scattered writes are told to be too many ranges, of one variable and of all together.
func TestCoverIsBounded(t *testing.T) {
	c := newCover(maxRanges/maxRangesVar + 2)
	for i := range int64(maxRangesVar) {
		if c.full(0) {
			t.Fatalf("full with %d ranges", i)
		}
		c.add(0, 2*i, 2*i+1)
	}
	if !c.full(0) {
		t.Errorf("not full with %d ranges of a variable", maxRangesVar)
	}
	for v := range len(c.vars) - 1 {
		for i := range int64(maxRangesVar) {
			c.add(v, 2*i, 2*i+1)
		}
	}
	last := len(c.vars) - 1
	c.add(last, 0, 1)
	if c.full(last) {
		t.Error("one range cannot be joined with others")
	}
	if c.add(last, 2, 3); !c.full(last) {
		t.Errorf("not full with %d ranges of all variables", c.total)
	}
}
