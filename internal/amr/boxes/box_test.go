package boxes

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndex: the index finds what a loop over all boxes finds, each once, for boxes of any size and sign.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (b Box) {
		for a := range 3 {
			b.Lo[a] = r.IntN(60) - 30
			b.Hi[a] = b.Lo[a] + 1 + r.IntN(12)
		}
		return b
	}
	for range 50 {
		var list []Box
		for range 1 + r.IntN(60) {
			list = append(list, random())
		}
		x := NewIndex(list)
		for range 20 {
			b := random()
			var got, want []int
			x.Each(b, func(i int, part Box) bool {
				if p, _ := b.Cut(list[i]); p != part {
					t.Fatalf("box %d: part %v, want %v", i, part, p)
				}
				got = append(got, i)
				return true
			})
			for i := range list {
				if _, some := b.Cut(list[i]); some {
					want = append(want, i)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%v: found %v, want %v", b, got, want)
			}
		}
	}
}

func TestCoarsen(t *testing.T) {
	for _, c := range []struct {
		lo, hi, r int
		clo, chi  int
		whole     bool
	}{{-4, 4, 2, -2, 2, true}, {-3, 4, 2, -2, 2, false}, {0, 7, 4, 0, 2, false}, {8, 12, 4, 2, 3, true}} {
		b, whole := Box{[3]int{c.lo, 0, 0}, [3]int{c.hi, 1, 1}}.Coarsen([3]int{c.r, 1, 1})
		if b.Lo[0] != c.clo || b.Hi[0] != c.chi || whole != c.whole {
			t.Errorf("%+v: %v, %v", c, b, whole)
		}
		if whole && b.Refine([3]int{c.r, 1, 1}) != (Box{[3]int{c.lo, 0, 0}, [3]int{c.hi, 1, 1}}) {
			t.Errorf("%+v: not refined back", c)
		}
	}
}
