package slab

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// listed returns the indices one by one.
func listed(x Index) (out []int64) {
	for _, s := range x {
		for k := range s.Count {
			out = append(out, s.First+k*s.Stride)
		}
	}
	return out
}

func drawIndex(t *rapid.T, n int64, what string) Index {
	lo, hi := rapid.Int64Range(0, n-1).Draw(t, what+" lo"), rapid.Int64Range(0, n-1).Draw(t, what+" hi")
	return wrapped(lo, hi, n, rapid.Int64Range(1, n+1).Draw(t, what+" stride"))
}

// TestIndices compares wrapped, union and intersection with lists of single indices.
func TestIndices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 20).Draw(t, "n")
		lo, hi := rapid.Int64Range(0, n-1).Draw(t, "lo"), rapid.Int64Range(0, n-1).Draw(t, "hi")
		stride := rapid.Int64Range(1, n+1).Draw(t, "stride")
		x := wrapped(lo, hi, n, stride)
		var want []int64
		for i, k := lo, int64(0); ; i, k = (i+1)%n, k+1 {
			if k%stride == 0 {
				want = append(want, i)
			}
			if i == hi {
				break
			}
		}
		if got := listed(x); !slices.Equal(got, want) || x.Len() != int64(len(want)) || x.Check(n) != nil {
			t.Fatalf("%d to %d of %d by %d: %v, want %v (%v)", lo, hi, n, stride, got, want, x.Check(n))
		}
		y := drawIndex(t, n, "other")
		var both, any []int64
		for i := range n {
			a, b := slices.Contains(listed(x), i), slices.Contains(listed(y), i)
			if a && b {
				both = append(both, i)
			}
			if a || b {
				any = append(any, i)
			}
		}
		u, err := union([]Index{x, y})
		if err != nil || !slices.Equal(listed(u), any) {
			t.Fatalf("union of %v and %v: %v, want %v (%v)", x, y, listed(u), any, err)
		}
		v, err := intersection(x, y)
		if err != nil || !slices.Equal(listed(v), both) {
			t.Fatalf("intersection of %v and %v: %v, want %v (%v)", x, y, listed(v), both, err)
		}
	})
}

func TestIndexCheck(t *testing.T) {
	const big = 1 << 62
	for _, x := range []Index{{}, {{0, 0, 1}}, {{0, 1, 0}}, {{-1, 1, 1}}, {{5, 1, 1}}, {{0, 6, 1}}, {{1, 3, 2}}, {{0, 5, 1}, {0, 1, 1}}, {{1, big, big}}, {{0, 2, big}}} {
		if x.Check(5) == nil {
			t.Errorf("%v passes in a dimension of 5", x)
		}
	}
	if _, err := union([]Index{{{0, big, 2}}, {{0, 1, 1}}}); err == nil {
		t.Error("2^62 single elements are listed")
	}
}

// TestRuns: the runs of any range of a part are the elements that nested loops over the indices find.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(0, 4).Draw(t, "dims")
		shape, take := make([]int64, dims), make([]Index, rapid.IntRange(0, dims).Draw(t, "indices"))
		for i := range shape {
			shape[i] = rapid.Int64Range(1, 6).Draw(t, "length")
			if i < len(take) && rapid.Bool().Draw(t, "taken") {
				take[i] = drawIndex(t, shape[i], "index")
			}
		}
		want := []int64{0}
		for i, n := range shape {
			x := Index{{0, n, 1}}
			if i < len(take) && take[i] != nil {
				x = take[i]
			}
			var next []int64
			for _, base := range want {
				for _, k := range listed(x) {
					next = append(next, base*n+k)
				}
			}
			want = next
		}
		a := NewArray(shape, take)
		if a.Elems() != int64(len(want)) {
			t.Fatalf("%d elements, want %d", a.Elems(), len(want))
		}
		lo := rapid.Int64Range(0, a.Elems()).Draw(t, "from")
		hi := rapid.Int64Range(lo, a.Elems()).Draw(t, "to")
		runs := a.Runs(lo, hi)
		for range 2 {
			var got []int64
			for off, n := range runs {
				if n < 1 {
					t.Fatalf("a run of %d elements", n)
				}
				for i := range n {
					got = append(got, off+i)
				}
			}
			if !slices.Equal(got, want[lo:hi]) {
				t.Fatalf("elements %v, want %v", got, want[lo:hi])
			}
		}
		for range a.Runs(0, a.Elems()) {
			break // the caller stops early
		}
	})
}
