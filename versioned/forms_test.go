package versioned

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

// The forms that a version can have, compared: what a version writes, how long Inc takes (wall and CPU time, medians), how long reading a box of
// 32^3 numbers of the tenth takes, and the room of 21 versions. 32 MiB on one rank; the chunks that change are spread evenly. The two
// forms take turns.
func BenchmarkForms(b *testing.B) {
	const (
		n        = 4 << 20 // numbers
		versions = 20
		box      = 32 * 32 * 32
	)
	forms := []Form{Flat, Log}
	for _, percent := range []int64{1, 10, 100} {
		b.Run(fmt.Sprintf("%d %% changed", percent), func(b *testing.B) {
			var wall, cpu, read [2][]float64
			var bytes, room [2]int64
			for b.Loop() {
				err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
					var arrays [2]*Array
					var dirs [2]string
					for i, f := range forms {
						dirs[i] = b.TempDir()
						a, err := Create(ctx, c, &Store{Dir: dirs[i]}, Spec{Name: "a", Type: Float64, Shape: []int64{n}}, &Options{Durability: DurableNone, Form: f})
						must(b, err)
						arrays[i] = a
					}
					chunk := int64(arrays[0].spec.Chunk / 8)
					for v := range int64(versions + 1) {
						for i, a := range arrays {
							if v == 0 {
								must(b, Put(ctx, a, []int64{0}, []int64{n}, seq(0, n, 1)))
							}
							for k := v % (100 / percent); v > 0 && k < n/chunk; k += 100 / percent {
								must(b, Put(ctx, a, []int64{k * chunk}, []int64{k*chunk + 1}, []float64{float64(-v)}))
							}
							start, used := time.Now(), cpuTime()
							if _, err := a.Inc(ctx, 1, ""); err != nil {
								return err
							}
							if v > 0 {
								wall[i] = append(wall[i], 1e3*time.Since(start).Seconds())
								cpu[i] = append(cpu[i], 1e3*(cpuTime()-used).Seconds())
								bytes[i] = a.Versions()[v+1].Written
							}
						}
					}
					buf := make([]float64, box)
					for i, a := range arrays {
						must(b, a.Close(ctx))
						mem := int64(0)
						list, err := vfs.OS.ReadDir(filepath.Join(dirs[i], "a"))
						must(b, err)
						for _, e := range list {
							info, err := e.Info()
							must(b, err)
							mem += info.Size()
						}
						room[i] = mem
					}
					for k := range int64(20) {
						for i := range forms {
							// Anew each time: with opening the record, the file and its tables.
							start := time.Now()
							v, err := OpenView(filepath.Join(dirs[i], "a"), nil)
							must(b, err)
							lo := k * box
							must(b, v.Get(ctx, versions/2, []int64{lo}, []int64{lo + box}, Bytes(buf)))
							read[i] = append(read[i], 1e3*time.Since(start).Seconds())
							must(b, v.Close())
						}
					}
					return nil
				})
				must(b, err)
			}
			median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
			for i, f := range []string{"flat", "log"} {
				b.ReportMetric(float64(bytes[i])/(8*n), "written/size,"+f)
				b.ReportMetric(median(wall[i]), "ms/Inc,"+f)
				b.ReportMetric(median(cpu[i]), "cpu-ms/Inc,"+f)
				b.ReportMetric(median(read[i]), "ms/box,"+f)
				b.ReportMetric(float64(room[i])/(8*n), "room/size,"+f)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
