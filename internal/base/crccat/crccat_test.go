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

func TestRepeat(t *testing.T) {
	for _, b := range []string{"", "x", "\x47\x9e\x00\x00\x00\x00\x00\x00"} {
		for n := range 70 {
			if got, want := Repeat([]byte(b), int64(n)), crc32.ChecksumIEEE(bytes.Repeat([]byte(b), n)); got != want {
				t.Errorf("Repeat(%q, %d) = %08x, want %08x", b, n, got, want)
			}
		}
	}
}

// TestLongLengths: lengths that differ only in their upper bits have different factors, and lengths over 4 GiB are not truncated.
func TestLongLengths(t *testing.T) {
	for n := int64(1); n < 1<<45; n *= 2 {
		if got, want := Zeros(2*n), Cat(Zeros(n), Zeros(n), n); got != want {
			t.Errorf("Zeros(%d) = %08x, want %08x", 2*n, got, want)
		}
	}
	var j Joiner
	for range 2 {
		for _, n := range []int64{1, 1 + 1<<8, 1 + 1<<16, 1 + 1<<32, 1 + 1<<40} {
			if got, want := j.Cat(1, 2, n), Cat(1, 2, n); got != want {
				t.Errorf("Joiner.Cat of %d bytes = %08x, want %08x", n, got, want)
			}
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
