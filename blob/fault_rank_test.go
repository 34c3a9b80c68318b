package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// rankFault is a failure on one of four ranks.
type rankFault struct {
	name string
	want error
	f    func(ctx context.Context, c comm.Comm, o *dataset.Settings) error
}

var errMine = errors.New("mine")

// created has the arguments that a rank passes to Create.
type created struct {
	base  string
	s     *dataset.Schema
	parts []write.Part
	o     dataset.Settings
}

func rankFaults(m *model) []rankFault {
	create := func(ctx context.Context, c comm.Comm, o *dataset.Settings) (*write.Writer, error) {
		return write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o)
	}
	passes := func(rank int, change func(in *created)) func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
		return func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
			in := created{"d.nc", m.s, m.parts(c.Rank()), *o}
			if c.Rank() == rank {
				change(&in)
			}
			_, err := write.CreateWith(ctx, c, in.base, in.s, in.parts, &in.o)
			return err
		}
	}
	writes := func(f func(ctx context.Context, c comm.Comm, w *write.Writer) error) func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
		return func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
			w, err := create(ctx, c, o)
			if err != nil {
				return err
			}
			if err := f(ctx, c, w); err != nil {
				w.Abort()
				return err
			}
			return w.Close(ctx)
		}
	}
	puts := func(x float64) func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
		return writes(func(_ context.Context, c comm.Comm, w *write.Writer) error {
			list := make([]float64, w.Job.Count(1))
			if c.Rank() == 3 {
				list[0] = x
			}
			return write.Put(w, 2, 0, list)
		})
	}
	aborts := func(rank int, first func(ctx context.Context, c comm.Comm, w *write.Writer) error) func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
		return writes(func(ctx context.Context, c comm.Comm, w *write.Writer) error {
			if err := first(ctx, c, w); err != nil || c.Rank() != rank {
				return err
			}
			return errMine
		})
	}
	return []rankFault{
		{"bad part", dataset.ErrUsage, passes(2, func(in *created) { in.parts = append(in.parts, write.Part{Decomp: 9}) })},
		{"request out of range", nil, passes(1, func(in *created) { in.parts[0].Runs[0].Offset = 99 })},
		{"bad option", dataset.ErrUsage, passes(3, func(in *created) { in.o.Buffer = 1 })},
		{"other option", dataset.ErrUsage, passes(3, func(in *created) { in.o.Durability = dataset.DurableNone })},
		{"other name", dataset.ErrUsage, passes(0, func(in *created) { in.base = "e.nc" })},
		{"other schema", dataset.ErrUsage, passes(1, func(in *created) {
			in.s = tinyModel(1, 2).s
			in.s.GlobalAtt("more", 1)
		})},
		{"put out of range", dataset.ErrRange, puts(1e9)},
		{"put of NaN to short", dataset.ErrRange, puts(math.NaN())},
		{"abort", errMine, aborts(1, func(ctx context.Context, c comm.Comm, w *write.Writer) error {
			if err := m.putRecord(w, 0, c.Rank(), true); err != nil {
				return err
			}
			return w.Flush(ctx)
		})},
		{"abort of rank 0", errMine, aborts(0, func(ctx context.Context, c comm.Comm, w *write.Writer) error { return w.Flush(ctx) })},
		{"abort and nil", comm.ErrExited, func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
			w, err := create(ctx, c, o)
			if err != nil {
				return err
			}
			if c.Rank() == 1 {
				w.Abort()
				return nil
			}
			return w.Close(ctx)
		}},
		{"panic", nil, writes(func(ctx context.Context, c comm.Comm, w *write.Writer) error {
			if c.Rank() == 2 {
				if comm.Apart(c) { // with separate heaps the rank stands for a process, whose lease ends with the process
					defer w.Abort()
				}
				panic("no")
			}
			return w.Flush(ctx)
		})},
		{"own context", context.Canceled, func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
			w, err := create(ctx, c, o)
			if err != nil {
				return err
			}
			if err := m.putRecord(w, 0, c.Rank(), true); err != nil {
				return err
			}
			if c.Rank() == 3 {
				dead, cancel := context.WithCancel(ctx)
				cancel()
				ctx = dead
			}
			return w.Close(ctx)
		}},
		{"memory cap", dataset.ErrTooLarge, func(ctx context.Context, c comm.Comm, o *dataset.Settings) error {
			p := *o
			p.Memory, p.Retain = 1, dataset.CopyOnPut
			return writes(func(_ context.Context, _ comm.Comm, w *write.Writer) error {
				return write.Put(w, 1, 0, make([]float32, w.Job.Count(1)))
			})(ctx, c, &p)
		}},
	}
}

// TestOneRankFails lets one rank fail in many ways. Every rank must get an error, no file may have its final name, and no
// goroutine may remain.
func TestOneRankFails(t *testing.T) {
	m := tinyModel(1, 2)
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		for _, isolate := range []bool{false, true} {
			for _, tc := range rankFaults(m) {
				inBubble(t, fmt.Sprintf("%s-isolate=%v/%s", cc.name, isolate, tc.name), func(t *testing.T) {
					mem := vfs.NewMem()
					var mu sync.Mutex
					without := map[int]bool{}
					err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
						d := c
						if isolate {
							d = commtest.Isolate(c)
						}
						err := tc.f(ctx, d, cc.with(mem, false))
						if err == nil {
							mu.Lock()
							without[c.Rank()] = true
							mu.Unlock()
						}
						return err
					})
					if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
						t.Fatalf("%v, want %v", err, tc.want)
					}
					if delete(without, 1); tc.name != "abort and nil" && len(without) > 0 && tc.name != "panic" || len(without) > 1 {
						t.Fatalf("ranks without an error: %v", without)
					}
					c := crash{fs: mem, when: tc.name}
					if state := seen(t, c, "d.nc", nil, nil); state != "none" {
						t.Fatalf("a dataset is there: %v", names(mem, "."))
					}
					nextWriter(t, cc, c, 0, "none", nil, m)
				})
			}
		}
	}
}

// TestCancelAnywhere cancels the context at any operation. The dataset must have the old content or the new content.
func TestCancelAnywhere(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		inParallel(t, cc.name, func(t *testing.T) {
			was, now := tinyModel(2, 1), tinyModel(1, 2)
			start := vfs.NewMem()
			was.writeTo(t, start, cc.with(start, false))
			count := vfs.Count(start.CrashClone(vfs.CrashOptions{}))
			noError(t, cc.create(now, count, true))
			for n := int64(1); n <= count.Ops(); n += int64(times(11, 1)) {
				mem := start.CrashClone(vfs.CrashOptions{})
				ctx, cancel := context.WithCancel(context.Background())
				var when string
				fsys := vfs.NewFault(mem, func(op vfs.Op) error {
					if op.Seq == n {
						when = "cancelled before " + op.String()
						cancel()
					}
					return nil
				})
				err := comm.Run(ctx, now.ranks, nil, func(ctx context.Context, c comm.Comm) error {
					return now.create(ctx, cc.comm(c), "d.nc", cc.with(fsys, true))
				})
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("%s: %v", when, err)
				}
				c := crash{fs: mem, when: when}
				state := seen(t, c, "d.nc", was.canonical(false), now.canonical(false))
				if err == nil && state != "now" {
					t.Fatalf("%s: no error, but the dataset reads as %q", when, state)
				}
				if n%3 == 0 {
					nextWriter(t, cc, c, int(n), state, was, now)
				}
			}
		})
	}
}
