package codec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func planes(src []byte, size int) []byte {
	n := len(src) / size
	var dst []byte
	for k := range size {
		for i := range n {
			dst = append(dst, src[i*size+k])
		}
	}
	return append(dst, src[n*size:]...)
}

func TestShuffle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "src")
		size := rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "size")
		got, back := make([]byte, len(src)), make([]byte, len(src))
		Shuffle(got, src, size)
		if !bytes.Equal(got, planes(src, size)) {
			t.Fatalf("size %d:\ngot  %x\nwant %x", size, got, planes(src, size))
		}
		if Unshuffle(back, got, size); !bytes.Equal(back, src) {
			t.Fatalf("size %d back:\ngot  %x\nwant %x", size, back, src)
		}
	})
}

func pattern(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>6) + byte(r.IntN(3))
	}
	return b
}

// TestSameBytes: output does not depend on earlier or concurrent compressions.
func TestSameBytes(t *testing.T) {
	const n = 12
	var want [n][]byte
	for k := range n {
		z := NewZstd(Options{Window: 1 << 18, Concurrency: 1})
		b, err := z.Encode(nil, pattern(1+k*30_000, uint64(k)), 1+k%2)
		if err != nil {
			t.Fatal(err)
		}
		want[k] = b
		z.Close()
	}
	z := NewZstd(Options{Window: 1 << 18, Concurrency: 4, MaxContent: 1 << 20})
	defer z.Close()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for _, k := range rand.New(rand.NewPCG(uint64(w), 2)).Perm(n) {
				src := pattern(1+k*30_000, uint64(k))
				b, err := z.Encode(nil, src, 1+k%2)
				if err != nil || !bytes.Equal(b, want[k]) {
					t.Errorf("piece %d: other bytes, or %v", k, err)
				}
				back := make([]byte, len(src))
				if err := z.Decode(back, b); err != nil || !bytes.Equal(back, src) {
					t.Errorf("piece %d back: %v", k, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestDecodeOther(t *testing.T) {
	z := NewZstd(Options{Concurrency: 1, MaxContent: 1 << 20})
	defer z.Close()
	b, err := z.Encode(nil, pattern(5000, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 4999, 5001, 9000} {
		if err := z.Decode(make([]byte, n), b); err == nil {
			t.Errorf("5000 bytes into %d: no error", n)
		}
	}
	for n := range b {
		if err := z.Decode(make([]byte, 5000), b[:n]); err == nil {
			t.Errorf("the first %d of %d bytes: no error", n, len(b))
		}
	}
	if _, err := z.Encode(nil, b, 0); err == nil {
		t.Error("level 0: no error")
	}
}

func FuzzDecode(f *testing.F) {
	z := NewZstd(Options{Concurrency: 1, MaxContent: 1 << 16})
	for _, n := range []int{0, 1, 100, 60000} {
		b, _ := z.Encode(nil, pattern(n, 3), 1)
		f.Add(b, n)
		b, _ = z.Encode(nil, make([]byte, n), 2)
		f.Add(b, n)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		dst := make([]byte, n+1)
		dst[n] = 7
		if z.Decode(dst[:n:n], b) == nil && n > MaxExpansion*max(len(b), 1) {
			t.Fatalf("%d bytes hold %d", len(b), n)
		}
		if dst[n] != 7 {
			t.Fatal("written behind the end")
		}
	})
}

func BenchmarkShuffle(b *testing.B) {
	src, dst := pattern(256<<10, 1), make([]byte, 256<<10)
	for _, size := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("to/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				Shuffle(dst, src, size)
			}
		})
		b.Run(fmt.Sprintf("back/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				Unshuffle(dst, src, size)
			}
		})
	}
}

// TestSized: a frame has the length of its content, which some decoders need, even if the content is short.
func TestSized(t *testing.T) {
	z := NewZstd(Options{Sized: true, MaxContent: 1 << 20})
	defer z.Close()
	for _, n := range []int{1, 16, 255, 256, 257, 5000, 1 << 20} {
		b, err := z.Encode(nil, make([]byte, n), MinLevel)
		if err != nil {
			t.Fatal(err)
		}
		var h zstd.Header
		if err := h.Decode(b); err != nil || !h.HasFCS || h.FrameContentSize != uint64(n) {
			t.Errorf("%d bytes: %+v, %v", n, h, err)
		}
		if err := z.Decode(make([]byte, n), b); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
