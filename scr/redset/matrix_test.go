package redset

import (
	"math/bits"
	"slices"
	"testing"
)

// TestDefect13EveryMatrix: Reed-Solomon decodes from every choice of elements that are left, in any order.
func TestDefect13EveryMatrix(t *testing.T) {
	for _, nk := range [][2]int{{3, 1}, {4, 2}, {5, 3}, {6, 3}, {7, 5}} {
		n, k := nk[0], nk[1]
		l := newLayout(RS, k, make([][]int64, n))
		full, err := rsMatrix(n, k)
		must(t, err)
		for c := range n {
			es := l.elems(c)
			d := l.dataPerStripe()
			val := make([]byte, n) // one byte of each element
			for x, e := range es {
				if !e.parity {
					val[x] = byte(37*x + 11*c + 1)
					continue
				}
				for y, f := range es[:d] {
					val[x] ^= gfMul(full[e.col][f.col], val[y])
				}
			}
			for mask := range 1 << n {
				if bits.OnesCount(uint(mask)) != d {
					continue
				}
				var in, out []elem
				var have [][]byte
				var want []byte
				for x, e := range es {
					if mask>>x&1 != 0 {
						in, have = append(in, e), append(have, []byte{val[x]})
					} else {
						out, want = append(out, e), append(want, val[x])
					}
				}
				slices.Reverse(in)
				slices.Reverse(have)
				coder, err := newRSCoder(l, c, in, out)
				must(t, err)
				got := make([][]byte, len(out))
				for i := range got {
					got[i] = make([]byte, 1)
				}
				must(t, coder.code(got, have))
				for i := range got {
					if got[i][0] != want[i] {
						t.Fatalf("n %d, k %d, stripe %d, mask %b: element %d is %d, want %d", n, k, c, mask, i, got[i][0], want[i])
					}
				}
			}
		}
	}
}

// gfMul multiplies in GF(2^8) with polynomial 0x11D, bit by bit.
func gfMul(a, b byte) byte {
	p, x := 0, int(a)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p ^= x
		}
		if x <<= 1; x > 255 {
			x ^= 0x11D
		}
	}
	return byte(p)
}
