package versioned

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"blobio/comm"
	"blobio/recovery"
)

// Where the time of a Hierarchy.Save in memory goes: 4 boxes of n x n cells and 2 components on each rank, all of them changed. Medians of
// rank 0 of each phase alone, and of the whole; the rest is the table, the record, retention and waiting.
func BenchmarkSavePhases(b *testing.B) {
	const boxes = 4
	for _, ranks := range []int{1, 4} {
		for _, side := range []int32{8, 16, 64, 128} {
			b.Run(fmt.Sprintf("%d ranks/boxes of %d", ranks, side), func(b *testing.B) {
				names := []string{"put", "hash", "copy", "collectives", "save"}
				took := make([][]float64, len(names))
				err := comm.Run(bg, ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
					h, err := CreateHierarchy(ctx, c, nil, HierarchySpec{Name: "h", Dim: 2, Comps: []string{"a", "b"}, Subcycling: recovery.Subcycling{Levels: 1, Ratio: 2},
						Config: recovery.Config{Cadence: recovery.Cadence{1}}, Chunk: 4096, Keep: Retention{Last: 4}}, nil)
					must(b, err)
					var all []BoxInfo
					own := map[int][]float64{}
					for i := range boxes * c.Size() {
						lo := int32(i) * side
						all = append(all, BoxInfo{Lo: [3]int32{lo}, Hi: [3]int32{lo + side - 1, side - 1}, Owner: int32(i / boxes)})
						if i/boxes == c.Rank() {
							own[i] = make([]float64, 2*side*side)
						}
					}
					if _, err := h.Regrid(ctx, 0, all); err != nil {
						return err
					}
					a := h.Array(0)
					fresh := func(k int) {
						for _, d := range own {
							for i := range d {
								d[i] = float64(k*len(d) + i)
							}
						}
					}
					put := func() error {
						for i, d := range own {
							if err := h.put(ctx, 0, i, d); err != nil {
								return err
							}
						}
						return nil
					}
					// All ranks go through the same number of rounds.
					const rounds = 200
					var room []byte
					for k := range rounds {
						fresh(k)
						phases := []func() error{
							put,
							func() error { a.changes.hash(make([]digest, len(a.changes.sums)), a.state.local); return nil },
							func() error { room = append(room[:0], a.state.local...); return nil },
							func() error {
								if err := a.state.win.Fence(ctx); err != nil {
									return err
								}
								_, err := c.Share(ctx, nil)
								return err
							},
							func() error { _, err := h.Save(ctx, 0, float64(k), 1, int64(k), own); return err },
						}
						for i, f := range phases {
							must(b, c.Barrier(ctx))
							start := time.Now()
							must(b, f())
							if c.Rank() == 0 {
								took[i] = append(took[i], 1e6*time.Since(start).Seconds())
							}
						}
					}
					return h.Close(ctx)
				})
				must(b, err)
				rest := 0.0
				for i, n := range names {
					slices.Sort(took[i])
					m := took[i][len(took[i])/2]
					b.ReportMetric(m, "µs/"+n)
					rest -= m
					if n == "save" {
						b.ReportMetric(max(rest+2*m, 0), "µs/rest")
						b.ReportMetric(1e3*m/float64(boxes*2*side*side), "ns/number")
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
