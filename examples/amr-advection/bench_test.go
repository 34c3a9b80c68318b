package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"blobio/comm"
)

// The mark: the solver with a version of every level at every step, in memory, against the same solver that only copies the
// same numbers. Interleaved; medians of the time, and of the CPU time of the process.
func BenchmarkSaving(b *testing.B) {
	type took struct {
		wall, cpu, save float64
		saves           int
	}
	run := func(ranks int, side int32, copies bool) (t took) {
		o := settings{sub: four, cadence: cadences[0], steps: 6, regrid: 3, side: side, copies: copies}
		if side > 16 {
			o.steps = 2
		}
		err := comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			s, err := newSolver(ctx, c, o)
			if err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start, cpu := time.Now(), cpuTime()
			if err := s.run(ctx); err != nil {
				return err
			}
			if c.Rank() == 0 {
				t = took{time.Since(start).Seconds(), (cpuTime() - cpu).Seconds(), s.took.save.Seconds(), 0}
				for _, v := range s.took.saves {
					t.saves += len(v)
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	for _, ranks := range []int{1, 4} {
		for _, side := range []int32{8, 16, 64, 128} {
			b.Run(fmt.Sprintf("%d ranks/boxes of %d", ranks, side), func(b *testing.B) {
				var with, without []took
				for b.Loop() {
					with = append(with, run(ranks, side, false))
					without = append(without, run(ranks, side, true))
				}
				median := func(v []took, f func(t *took) float64) float64 {
					var all []float64
					for i := range v {
						all = append(all, f(&v[i]))
					}
					slices.Sort(all)
					return all[len(all)/2]
				}
				wall := func(t *took) float64 { return t.wall }
				cpu := func(t *took) float64 { return t.cpu }
				b.ReportMetric(median(with, wall)/median(without, wall), "saving/copying")
				if c := median(without, cpu); c > 0 {
					b.ReportMetric(median(with, cpu)/c, "saving/copying(cpu)")
				}
				b.ReportMetric(1e3*median(without, wall), "ms/copying")
				b.ReportMetric(1e6*median(with, func(t *took) float64 { return t.save / float64(t.saves) }), "µs/save")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
