package versioned

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

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
		copy(a.state.local[8*lo:8*(lo+n)], Bytes(buf))
		return nil
	})
}

// The mark of a version with 1 % changed chunks: its time but for the hashing, of a whole version's time. Interleaved, medians.
func BenchmarkIncRest(b *testing.B) {
	const n = 8 << 20
	err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
		var arrays [2]*Array
		for i, form := range []Form{Flat, Log} {
			a, err := Create(ctx, c, &Store{Dir: b.TempDir(), FS: vfs.OS}, Spec{Name: "a", Type: Float64, Shape: []int64{n}, Keep: Retention{Last: 2}}, &Options{Durability: DurableNone, Form: form})
			must(b, err)
			must(b, Put(ctx, a, []int64{0}, []int64{n}, seq(0, n, 1)))
			for range 3 {
				if _, err := a.Inc(ctx, 1, ""); err != nil {
					return err
				}
			}
			arrays[i] = a
		}
		var took [3][]float64
		var wall [3][]float64
		k := int64(0)
		for b.Loop() {
			for i, a := range arrays {
				chunks := n * 8 / int64(a.spec.Chunk)
				for j := int64(0); j < chunks; j += 100 {
					off := (j + k) % chunks * int64(a.spec.Chunk/8)
					must(b, Put(ctx, a, []int64{off}, []int64{off + 1}, []float64{float64(k + 2)}))
				}
				start, cpu := time.Now(), cpuTime()
				if _, err := a.Inc(ctx, 1, ""); err != nil {
					return err
				}
				wall[i], took[i] = append(wall[i], time.Since(start).Seconds()), append(took[i], (cpuTime()-cpu).Seconds())
			}
			k++
			start, cpu := time.Now(), cpuTime()
			arrays[1].changes.hash(arrays[1].changes.spare, arrays[1].state.local)
			wall[2], took[2] = append(wall[2], time.Since(start).Seconds()), append(took[2], (cpuTime()-cpu).Seconds())
		}
		median := func(v []float64) float64 {
			slices.Sort(v)
			return v[len(v)/2]
		}
		for i, name := range []string{"full", "log", "hash"} {
			b.ReportMetric(1e3*median(wall[i]), "ms/"+name)
		}
		b.ReportMetric((median(wall[1])-median(wall[2]))/median(wall[0]), "rest/full")
		if full := median(took[0]); full > 0 {
			b.ReportMetric((median(took[1])-median(took[2]))/full, "rest/full(cpu)")
		}
		return nil
	})
	must(b, err)
}

// A box of an old version: the bytes of the box are read, and nothing else once the tables are known.
func TestBytesRead(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	count := vfs.Count(mem)
	err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
		const n = 1 << 20
		a, err := Create(ctx, c, &Store{Dir: "d", FS: count}, Spec{Name: "a", Type: Float64, Shape: []int64{n}, Chunk: 4096}, nil)
		must(t, err)
		for v := range 3 {
			must(t, Put(ctx, a, []int64{0}, []int64{n}, seq(v, n, 1)))
			inc(ctx, t, a)
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
	must(t, err)
}
