package versioned

import "testing"

// Boxes larger than a piece, in all dimensions, come in row-major order.
func TestSlabs(t *testing.T) {
	for most := int64(1); most < 70; most++ {
		lo, hi := []int64{1, 0, 2, 3}, []int64{3, 3, 4, 8}
		var got [][4]int64
		must(t, slabs(lo, hi, most, func(lo, hi []int64) error {
			n := int64(1)
			for d := range lo {
				n *= hi[d] - lo[d]
			}
			if n > most || n < 1 {
				t.Fatalf("%v %v: %d elements, want at most %d", lo, hi, n, most)
			}
			for a := lo[0]; a < hi[0]; a++ {
				for b := lo[1]; b < hi[1]; b++ {
					for c := lo[2]; c < hi[2]; c++ {
						for d := lo[3]; d < hi[3]; d++ {
							got = append(got, [4]int64{a, b, c, d})
						}
					}
				}
			}
			return nil
		}))
		i := 0
		for a := lo[0]; a < hi[0]; a++ {
			for b := lo[1]; b < hi[1]; b++ {
				for c := lo[2]; c < hi[2]; c++ {
					for d := lo[3]; d < hi[3]; d++ {
						if i >= len(got) || got[i] != [4]int64{a, b, c, d} {
							t.Fatalf("most %d: element %d", most, i)
						}
						i++
					}
				}
			}
		}
		if i != len(got) {
			t.Fatalf("most %d: %d elements, want %d", most, len(got), i)
		}
	}
	for _, hi := range [][]int64{{0}, {3, 0}, {0, 3}, {3, 0, 2}} {
		must(t, slabs(make([]int64, len(hi)), hi, 2, func(lo, hi []int64) error {
			if hi[len(hi)-1] > lo[len(lo)-1] {
				t.Errorf("%v %v of an empty box", lo, hi)
			}
			return nil
		}))
	}
}
