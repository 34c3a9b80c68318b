package blob

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestFlushAsyncError checks that a failed background write is an error of the next collective call on every rank. The writer
// then refuses further calls.
func TestFlushAsyncError(t *testing.T) {
	const ranks = 4
	next := map[string]func(w *write.Writer, ctx context.Context) error{
		"Flush": (*write.Writer).Flush, "FlushAsync": (*write.Writer).FlushAsync, "Wait": (*write.Writer).Wait, "Close": (*write.Writer).Close,
	}
	for name, cc := range asyncCases() {
		for call, f := range next {
			inBubble(t, name+"/"+call, func(t *testing.T) {
				s, v, parts := asyncModel(ranks)
				mem := vfs.NewMem()
				g := newGate(mem)
				errs, err := eachRank(ranks, func(ctx context.Context, c comm.Comm) error {
					w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false)))
					x := make([]float64, w.Job.Count(1))
					must(write.Put(w, v, 0, x))
					if name == "apart and small" {
						g.release(errDisk) // FlushAsync waits for memory, so the gate must open before
					}
					if err := w.FlushAsync(ctx); err != nil && name != "apart and small" {
						return err
					}
					if name != "apart and small" {
						if err := write.Put(w, v, 1, x); err != nil {
							return err
						}
					}
					g.release(errDisk)
					err := f(w, ctx)
					if put := write.Put(w, v, 2, x); !errors.Is(put, dataset.ErrBroken) && !errors.Is(put, dataset.ErrUsage) {
						return fmt.Errorf("put afterwards: %v", put)
					}
					if call != "Close" {
						if cerr := w.Close(ctx); cerr == nil {
							return errors.New("Close without an error")
						}
					}
					return err
				})
				if err == nil {
					t.Fatal("no error")
				}
				for r, e := range errs {
					if !tells(e, errDisk) {
						t.Errorf("rank %d: %v", r, e)
					}
				}
				if state := seen(t, crash{fs: mem, when: "afterwards"}, "d.nc", nil, nil); state != "none" {
					t.Errorf("a dataset is there: %v", names(mem, "."))
				}
			})
		}
	}
}

// TestFlushAsyncStopped checks three ways to stop a background flush: Abort on a rank, a cancelled context, and ranks that
// return.
func TestFlushAsyncStopped(t *testing.T) {
	const ranks = 4
	errMine := errors.New("mine")
	for name, cc := range asyncCases() {
		if name == "apart and small" {
			continue
		}
		for _, who := range crashtest.Some(t, 2, []int{0, 1, 2, 3}) {
			for _, how := range []string{"abort", "cancel", "return"} {
				inBubble(t, fmt.Sprintf("%s/%s %d", name, how, who), func(t *testing.T) {
					s, v, parts := asyncModel(ranks)
					mem := vfs.NewMem()
					g := newGate(mem)
					err := run(ranks, func(ctx context.Context, c comm.Comm) error {
						w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false)))
						must(write.Put(w, v, 0, make([]float64, w.Job.Count(1))))
						ctx, cancel := context.WithCancel(ctx)
						defer cancel()
						if err := w.FlushAsync(ctx); err != nil {
							return err
						}
						if c.Rank() != who {
							return errors.Join(w.Wait(ctx), w.Close(ctx))
						}
						switch how {
						case "abort":
							time.AfterFunc(time.Millisecond, func() { g.release(nil) }) // Abort waits for the write in progress, so the gate opens later
							w.Abort()
							return errMine
						case "cancel":
							cancel()
							g.release(nil)
							err := w.Wait(ctx)
							w.Abort()
							return err
						}
						g.release(nil)
						return errMine
					})
					g.release(nil)
					if err == nil || how != "cancel" && !errors.Is(err, errMine) || how == "cancel" && !errors.Is(err, context.Canceled) {
						t.Fatalf("%v", err)
					}
					if state := seen(t, crash{fs: mem, when: how}, "d.nc", nil, nil); state != "none" {
						t.Fatalf("a dataset is there: %v", names(mem, "."))
					}
				})
			}
		}
	}
}
