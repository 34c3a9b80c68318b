package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/comm"
	"blobio/versioned"
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
				t = took{time.Since(start).Seconds(), (cpuTime() - cpu).Seconds(), s.r.Stats.Took.Save.Seconds(), s.r.Stats.Versions}
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

// The mark: a version of every level at every step in files on a disk, against the computing of the same run; and beside it what writing the bytes of the
// snapshots once costs, with one sync for each. BLOBIO_BENCH_DIR is where.
func BenchmarkDurable(b *testing.B) {
	for _, side := range []int32{32, 64} {
		for name, d := range map[string]versioned.Durability{"each version": versioned.DurableCommit, "snapshots": versioned.DurableSnapshot} {
			b.Run(fmt.Sprintf("boxes of %d/%s", side, name), func(b *testing.B) {
				var share, save, snap, step, raw []float64
				for b.Loop() {
					dir, err := os.MkdirTemp(os.Getenv("BLOBIO_BENCH_DIR"), "durable")
					if err != nil {
						b.Fatal(err)
					}
					o := settings{sub: four, cadence: cadences[0], steps: 6, regrid: 3, side: side, durable: d, store: &versioned.Store{Dir: dir}}
					var bytes int64
					err = comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
						s, err := newSolver(ctx, c, o)
						if err != nil {
							return err
						}
						if err := s.run(ctx); err != nil {
							return err
						}
						if c.Rank() == 0 {
							n := float64(o.steps)
							share = append(share, 100*s.r.Stats.Took.Save.Seconds()/s.r.Stats.Took.Step.Seconds())
							save, step = append(save, 1e3*s.r.Stats.Took.Save.Seconds()/n), append(step, 1e3*s.r.Stats.Took.Step.Seconds()/n)
							snap = append(snap, 1e3*s.r.Stats.Took.Snapshots.Mean())
							for _, v := range s.levels {
								bytes += int64(len(v.tiles) * v.cells() * 16)
							}
						}
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
					start := time.Now()
					for i := range o.steps { // the ceiling: one file for each snapshot
						f, err := os.Create(filepath.Join(dir, fmt.Sprint("raw", i)))
						if err != nil {
							b.Fatal(err)
						}
						_, err = f.Write(make([]byte, bytes))
						if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
							b.Fatal(err)
						}
					}
					raw = append(raw, 1e3*time.Since(start).Seconds()/float64(o.steps))
					if err := os.RemoveAll(dir); err != nil {
						b.Fatal(err)
					}
				}
				median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
				b.ReportMetric(median(share), "%saving/computing")
				b.ReportMetric(median(save), "ms/save")
				b.ReportMetric(median(snap), "ms/snapshot")
				b.ReportMetric(median(step), "ms/compute")
				b.ReportMetric(median(raw), "ms/raw")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
