package elem

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

func swapSimple(dst, src []byte, width int) {
	for i := 0; i < len(src); i += width {
		e := slices.Clone(src[i : i+width])
		slices.Reverse(e)
		copy(dst[i:], e)
	}
}

func TestSwap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{1, 2, 4, 8} {
		for n := 0; n < 40; n++ {
			for shift := 0; shift < 3; shift++ { // any alignment
				src := make([]byte, shift+n*width)[shift:]
				for i := range src {
					src[i] = byte(rnd.Uint32())
				}
				want := make([]byte, len(src))
				swapSimple(want, src, width)
				got := make([]byte, len(src)+8)
				keep := got[len(src):]
				Swap(got, src, width)
				if !bytes.Equal(got[:len(src)], want) || !bytes.Equal(keep, make([]byte, 8)) {
					t.Fatalf("width %d, %d elements: % x, want % x", width, n, got, want)
				}
				Swap(src, src, width)
				if !bytes.Equal(src, want) {
					t.Fatalf("width %d, %d elements, in place: % x, want % x", width, n, src, want)
				}
			}
		}
	}
	odd := []byte{1, 2, 3}
	Swap(odd, []byte{9, 9, 9}, 3)
	if !bytes.Equal(odd, []byte{1, 2, 3}) {
		t.Errorf("width 3 changed the destination: % x", odd)
	}
}
