package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkFlushAsync computes between flushes as long as these take, in turn with Flush and with
// FlushAsync; the metric ratio is the time with Flush over that with FlushAsync. BLOBIO_BENCH_DIR says where the files go.
func BenchmarkFlushAsync(b *testing.B) {
	dir := os.Getenv("BLOBIO_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	for _, sync := range []bool{false, true} {
		for _, ranks := range []int{1, cores()} {
			for _, l := range layouts {
				b.Run(fmt.Sprintf("sync=%v/ranks=%d/%v", sync, ranks, l), func(b *testing.B) {
					j, _ := asyncJob(false, ranks, sync)
					v, err := newOverlap(j)
					if err != nil {
						b.Fatal(err)
					}
					own, err := os.MkdirTemp(dir, "blobio-async-")
					if err != nil {
						b.Fatal(err)
					}
					defer os.RemoveAll(own)
					total := map[string]float64{}
					for b.Loop() {
						for _, what := range v.ways() {
							k, err := v.run(context.Background(), what, filepath.Join(own, "d"), v.t.options(l))
							if err != nil {
								b.Fatal(err)
							}
							total[what] += k.Seconds
						}
					}
					b.ReportMetric(total[asyncSync]/total[asyncBoth], "ratio")
					b.ReportMetric(total[v.ways()[0]]/float64(b.N), "alone-s")
					b.ReportMetric(total[asyncSync]/float64(b.N), "in-turn-s")
					b.ReportMetric(total[asyncBoth]/float64(b.N), "async-s")
				})
			}
		}
	}
}
