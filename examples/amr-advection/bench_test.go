package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"blobio/comm"
)

// The mark: the solver with a version of every level at every step, in memory, against the same solver that only copies the
// same numbers. Interleaved, medians.
func BenchmarkSaving(b *testing.B) {
	run := func(ranks int, copies bool) (total, save time.Duration) {
		o := settings{sub: four, cadence: cadences[0], steps: 6, regrid: 3, copies: copies}
		err := comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			s, err := newSolver(ctx, c, o)
			if err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start := time.Now()
			if err := s.run(ctx); err != nil {
				return err
			}
			if c.Rank() == 0 {
				total, save = time.Since(start), s.took.save
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		return total, save
	}
	for name, ranks := range map[string]int{"1 rank": 1, "4 ranks": 4} {
		b.Run(name, func(b *testing.B) {
			var with, without, saves []float64
			for b.Loop() {
				t, s := run(ranks, false)
				with, saves = append(with, t.Seconds()), append(saves, s.Seconds())
				t, _ = run(ranks, true)
				without = append(without, t.Seconds())
			}
			median := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
			b.ReportMetric(median(with)/median(without), "saving/copying")
			b.ReportMetric(1e3*median(without), "ms/copying")
			b.ReportMetric(1e3*median(saves), "ms/saves")
		})
	}
}
