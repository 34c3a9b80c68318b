package cdf5_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"blobio/cdf5"
)

// swapSimple is what Swap must do.
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
				cdf5.Swap(got, src, width)
				if !bytes.Equal(got[:len(src)], want) || !bytes.Equal(keep, make([]byte, 8)) {
					t.Fatalf("width %d, %d elements: % x, want % x", width, n, got, want)
				}
				cdf5.Swap(src, src, width)
				if !bytes.Equal(src, want) {
					t.Fatalf("width %d, %d elements, in place: % x, want % x", width, n, src, want)
				}
			}
		}
	}
	odd := []byte{1, 2, 3}
	cdf5.Swap(odd, []byte{9, 9, 9}, 3)
	if !bytes.Equal(odd, []byte{1, 2, 3}) {
		t.Errorf("width 3 changed the destination: % x", odd)
	}
}

// BenchmarkSwap runs beside BenchmarkCopy: a buffer of the first-level cache,
// one piece of the Writer, and one of main memory.
func BenchmarkSwap(b *testing.B) {
	for _, n := range []int{16 << 10, 1 << 20, 64 << 20} {
		src, dst := make([]byte, n), make([]byte, n)
		for _, width := range []int{2, 4, 8} {
			b.Run(fmt.Sprintf("width%d/%dKiB", width, n>>10), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					cdf5.Swap(dst, src, width)
				}
			})
		}
		b.Run(fmt.Sprintf("inplace4/%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				cdf5.Swap(dst, dst, 4)
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{16 << 10, 1 << 20, 64 << 20} {
		src, dst := make([]byte, n), make([]byte, n)
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				copy(dst, src)
			}
		})
	}
}

func BenchmarkSwapSimple(b *testing.B) {
	n := 16 << 10
	src, dst := make([]byte, n), make([]byte, n)
	b.SetBytes(int64(n))
	for b.Loop() {
		swapSimple(dst, src, 4)
	}
}

func BenchmarkToFile(b *testing.B) {
	const n = 256 << 10
	doubles, floats := make([]float64, n), make([]float32, n)
	longs := make([]int64, n)
	for i := range doubles {
		doubles[i], floats[i], longs[i] = float64(i)/3, float32(i)/3, int64(i)
	}
	dst := make([]byte, 8*n)
	for _, c := range []struct {
		name string
		t    cdf5.Type
		src  any
	}{
		{"float64_to_double", cdf5.Double, doubles}, {"float64_to_float", cdf5.Float, doubles}, {"float32_to_double", cdf5.Double, floats},
		{"int64_to_int", cdf5.Int, longs}, {"float64_to_short", cdf5.Short, doubles[:32<<10]},
	} {
		k, _, _ := cdf5.SliceLen(c.src)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(k * c.t.Size()))
			for b.Loop() {
				if err := cdf5.ToFile(dst, true, c.t, c.src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("check_float64_to_float", func(b *testing.B) {
		b.SetBytes(int64(8 * n))
		for b.Loop() {
			if err := cdf5.CheckRange(cdf5.Float, doubles); err != nil {
				b.Fatal(err)
			}
		}
	})
}
