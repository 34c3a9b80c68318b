package gf16

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// slow multiplies without tables.
func slow(a, b uint16) uint16 {
	p, x := 0, int(a)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			p ^= x
		}
		if x <<= 1; x > order {
			x ^= poly
		}
	}
	return uint16(p)
}

func TestMul(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		a, b := uint16(r.Uint32()), uint16(r.Uint32())|1
		if Mul(a, b) != slow(a, b) || Mul(b, inverse(b)) != 1 {
			t.Fatalf("%#x, %#x: %#x, inverse %#x", a, b, Mul(a, b), inverse(b))
		}
	}
}

// TestAddTo: words are multiplied one by one, for all lengths and for the factors with a shorter way.
func TestAddTo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		for _, x := range []uint16{0, 1, 2, 0xffff, uint16(r.Uint32())} {
			src, dst := make([]byte, n), make([]byte, n)
			for i := range n {
				src[i], dst[i] = byte(r.Uint32()), byte(r.Uint32())
			}
			want := bytes.Clone(dst)
			for i := 0; i < n; i += 2 {
				w := uint16(src[i])
				if i+1 < n {
					w |= uint16(src[i+1]) << 8
				}
				p := slow(x, w)
				want[i] ^= byte(p)
				if i+1 < n {
					want[i+1] ^= byte(p >> 8)
				}
			}
			NewFactor(x).AddTo(dst, src)
			if !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes times %#x: %x, want %x", n, x, dst, want)
			}
		}
	}
}

// TestDecode: any k of 2k files determine the others.
func TestDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k := 1; k <= 6; k++ {
		words := make([]uint16, 2*k)
		for j := range k {
			words[j] = uint16(r.Uint32())
		}
		for i := range k {
			for j := range k {
				words[k+i] ^= Mul(Code(k, i, j), words[j])
			}
		}
		for n := 1; n <= k; n++ {
			lost, parity := r.Perm(k)[:n], r.Perm(k)[:n]
			rows, err := Decode(k, lost, parity)
			if err != nil {
				t.Fatal(err)
			}
			for x, j := range lost {
				var w uint16
				for e, f := range rows[x] {
					w ^= Mul(f, words[e])
				}
				if w != words[j] {
					t.Errorf("file %d of %d, %v lost, from parity %v: %#x, want %#x", j, k, lost, parity, w, words[j])
				}
			}
		}
	}
	if _, err := Decode(3, []int{1, 1}, []int{0, 2}); err == nil {
		t.Error("a file that is lost twice")
	}
}
