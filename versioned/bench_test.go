package versioned

import (
	"context"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// Put and get of a box of 32^3 doubles beside a copy of as much.
func BenchmarkBox(b *testing.B) {
	const n = 32 * 32 * 32
	run := func(name string, f func(ctx context.Context, a *Array, buf []float64, lo int64) error) {
		b.Run(name, func(b *testing.B) {
			err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
				a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{64 * n}}, nil)
				if err != nil {
					return err
				}
				buf := seq(0, n, 1)
				b.SetBytes(8 * n)
				b.ReportAllocs()
				k := int64(0)
				for b.Loop() {
					if err := f(ctx, a, buf, k%64*n); err != nil {
						return err
					}
					k++
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	run("put", func(ctx context.Context, a *Array, buf []float64, lo int64) error {
		return Put(ctx, a, []int64{lo}, []int64{lo + n}, buf)
	})
	run("get", func(ctx context.Context, a *Array, buf []float64, lo int64) error {
		return Get(ctx, a, []int64{lo}, []int64{lo + n}, buf)
	})
	run("copy", func(_ context.Context, a *Array, buf []float64, lo int64) error {
		copy(a.state.local[8*lo:8*(lo+n)], Bytes(buf))
		return nil
	})
}

// A version of 64 MiB: whole, and with one chunk of a hundred changed; and the hashing alone, which
// both need.
func BenchmarkInc(b *testing.B) {
	const n = 8 << 20
	for _, form := range []string{"full", "log 1%", "flat 1%", "hash"} {
		b.Run(form, func(b *testing.B) {
			dir := b.TempDir()
			err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
				o := &Options{Durability: DurableNone}
				if form == "flat 1%" || form == "full" {
					o.Form = Flat
				}
				a, err := Create(ctx, c, &Store{Dir: dir, FS: vfs.OS}, Spec{Name: "a", Type: Float64, Shape: []int64{n}, Keep: Retention{Last: 2}}, o)
				if err != nil {
					return err
				}
				if err := Put(ctx, a, []int64{0}, []int64{n}, seq(0, n, 1)); err != nil {
					return err
				}
				if _, err := a.Inc(ctx, 1, ""); err != nil {
					return err
				}
				chunks := n * 8 / int64(a.spec.Chunk)
				b.SetBytes(8 * n)
				k, bytes := int64(0), int64(0)
				for b.Loop() {
					if form == "hash" {
						a.changes.hash(a.changes.sums, a.state.local)
						continue
					}
					for i := int64(0); i < chunks; i += 100 {
						off := (i + k) % chunks * int64(a.spec.Chunk/8)
						if err := Put(ctx, a, []int64{off}, []int64{off + 1}, []float64{float64(k + 2)}); err != nil {
							return err
						}
					}
					if _, err := a.Inc(ctx, 1, ""); err != nil {
						return err
					}
					v := a.Versions()
					bytes += v[len(v)-1].Written
					k++
				}
				if k > 0 {
					b.ReportMetric(float64(bytes)/float64(k)/(8*n), "written/size")
				}
				return a.Close(ctx)
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// A box of an old version: the bytes of the box are read, and nothing else once the tables are known.
func TestBytesRead(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	count := vfs.Count(mem)
	err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
		const n = 1 << 20
		a, err := Create(ctx, c, &Store{Dir: "d", FS: count}, Spec{Name: "a", Type: Float64, Shape: []int64{n}, Chunk: 4096}, nil)
		if err != nil {
			return err
		}
		for v := range 3 {
			if err := Put(ctx, a, []int64{0}, []int64{n}, seq(v, n, 1)); err != nil {
				return err
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		box := make([]float64, 1000)
		for _, meta := range []int64{1 << 20, 0} { // the first one opens the file and reads its metadata
			before := count.Bytes(vfs.OpRead)
			if err := GetAt(ctx, a, 2, []int64{5003}, []int64{6003}, box); err != nil || box[0] != 5004 {
				return fmt.Errorf("%v, %v", box[0], err)
			}
			if got := count.Bytes(vfs.OpRead) - before; got > 8000+meta {
				return fmt.Errorf("%d bytes read for a box of 8000", got)
			}
		}
		return a.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}
