package versioned

import (
	"context"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// BenchmarkBox puts and gets a box of 32^3 doubles, and for comparison copies as many bytes.
func BenchmarkBox(b *testing.B) {
	const n = 32 * 32 * 32
	run := func(name string, f func(ctx context.Context, a *Array, buf []float64, lo int64) error) {
		b.Run(name, func(b *testing.B) {
			err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
				a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Float64, Shape: []int64{64 * n}}, nil)
				must(b, err)
				buf := seq(0, n, 1)
				b.SetBytes(8 * n)
				b.ReportAllocs()
				k := int64(0)
				for b.Loop() {
					must(b, f(ctx, a, buf, k%64*n))
					k++
				}
				return nil
			})
			must(b, err)
		})
	}
	run("put", func(ctx context.Context, a *Array, buf []float64, lo int64) error {
		return Put(ctx, a, []int64{lo}, []int64{lo + n}, buf)
	})
	run("get", func(ctx context.Context, a *Array, buf []float64, lo int64) error {
		return Get(ctx, a, []int64{lo}, []int64{lo + n}, buf)
	})
	run("copy", func(_ context.Context, a *Array, buf []float64, lo int64) error {
		copy(a.state.local[8*lo:8*(lo+n)], bytesOf(buf))
		return nil
	})
}

// TestBytesRead: when the tables are loaded, a read of a box of an old version reads only the chunks that the box
// touches.
func TestBytesRead(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	count := vfs.Count(mem)
	err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
		const n = 1 << 20
		a, err := Create(ctx, c, &Store{Dir: "d", FS: count}, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 4096}, nil)
		must(t, err)
		for v := range 3 {
			must(t, Put(ctx, a, []int64{0}, []int64{n}, seq(v, n, 1)))
			inc(ctx, t, a)
		}
		box := make([]float64, 1000)
		for _, meta := range []int64{1 << 20, 0} { // only the first read opens the file and reads its metadata
			before := count.Bytes(vfs.OpRead)
			if err := GetAt(ctx, a, 2, []int64{5003}, []int64{6003}, box); err != nil || box[0] != 5004 {
				return fmt.Errorf("%v, %v", box[0], err)
			}
			if got := count.Bytes(vfs.OpRead) - before; got > 3*4096+meta {
				return fmt.Errorf("%d bytes read for a box of 8000 in three chunks", got)
			}
		}
		return a.Close(ctx)
	})
	must(t, err)
}
