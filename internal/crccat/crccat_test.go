package crccat

import (
	"bytes"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

func TestCatIsTheChecksumOfTheWhole(t *testing.T) {
	var j Joiner
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "b")
		want := crc32.ChecksumIEEE(append(bytes.Clone(a), b...))
		ca, cb := crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b)
		if got := Cat(ca, cb, int64(len(b))); got != want {
			t.Fatalf("Cat = %08x, want %08x", got, want)
		}
		if got := j.Cat(ca, cb, int64(len(b))); got != want {
			t.Fatalf("Joiner.Cat = %08x, want %08x", got, want)
		}
	})
}

func TestZeros(t *testing.T) {
	for _, n := range []int{0, 1, 7, 4096, 1 << 20} {
		if got, want := Zeros(int64(n)), crc32.ChecksumIEEE(make([]byte, n)); got != want {
			t.Errorf("Zeros(%d) = %08x, want %08x", n, got, want)
		}
	}
}

func BenchmarkJoiner(b *testing.B) {
	var j Joiner
	var c uint32
	for i := range b.N {
		c = j.Cat(c, uint32(i), 144)
	}
}
