package grids

import "testing"

func TestCoarsen(t *testing.T) {
	for _, c := range []struct{ lo, hi, r, clo, chi int }{{0, 8, 2, 0, 4}, {1, 8, 2, 0, 4}, {0, 7, 4, 0, 2}, {8, 12, 4, 2, 3}} {
		fine := Span{[3]int{c.lo, 0, 0}, [3]int{c.hi, 1, 1}}
		b := fine.Coarsen([3]int{c.r, 1, 1})
		if b.Lo[0] != c.clo || b.Hi[0] != c.chi {
			t.Errorf("%+v: %v", c, b)
		}
		if part, some := b.Refine([3]int{c.r, 1, 1}).Cut(fine); !some || part != fine {
			t.Errorf("%+v: refined it has %v", c, part)
		}
	}
}
