package blob

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

// TestFlushAsyncMemory: a put that exceeds the cap waits for what is under way; what can never fit is an error.
func TestFlushAsyncMemory(t *testing.T) {
	const ranks, size = 4, 8 << 10
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		inBubble(t, layout.String(), func(t *testing.T) {
			s, v, parts := asyncModel(ranks)
			g := newGate(vfs.NewMem())
			var through atomic.Int64
			if err := run(ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := createWith(ctx, c, "d.nc", s, parts(c.Rank()), &settings{Options: Options{Layout: layout, Records: 5, Retain: CopyOnPut, Memory: ranks*size + size}, knobs: knobs{fs: g}})
				must(err)
				x := make([]float64, w.Count(1))
				must(Put(w, v, 0, x))
				must(w.FlushAsync(ctx))
				if c.Rank() == 0 {
					go func() {
						time.Sleep(time.Millisecond) // until all others wait
						if n := through.Load(); n > 1 {
							t.Errorf("%d puts went through, there is room for one", n)
						}
						g.release(nil)
					}()
				}
				must(Put(w, v, 1, x))
				through.Add(1)
				must(w.FlushAsync(ctx))
				for rec := range int64(2) { // the first waits, the second can never fit
					err = errors.Join(err, Put(w, v, 2+rec, x))
				}
				must(w.Wait(ctx))
				all, aerr := c.AllreduceInt64(ctx, []int64{map[bool]int64{true: 1}[errors.Is(err, ErrTooLarge)]}, comm.Sum)
				if aerr != nil || all[0] == 0 {
					return fmt.Errorf("no rank met the cap: %v", aerr)
				}
				w.eng.proc.mu.Lock()
				used, flights := w.eng.proc.used, w.eng.proc.flights
				w.eng.proc.mu.Unlock()
				if used > ranks*size+size || flights != 0 {
					return fmt.Errorf("%d bytes in copies, %d flushes on the way", used, flights)
				}
				return w.Close(ctx)
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFlushAsyncWindows: of many windows some wait in memory, and the call waits for room for the next one.
func TestFlushAsyncWindows(t *testing.T) {
	const ranks, records = 4, 20
	for name, o := range map[string]settings{
		"memory":   {Options: Options{OwnMin: 1 << 30}},
		"messages": {Options: Options{OwnMin: 1 << 30, Aggregators: 2}, knobs: knobs{messages: true}},
		"some own": {Options: Options{OwnMin: 16 << 10}},
		"process":  {Options: Options{OwnMin: 1 << 30, Layout: ProcessCentric, Records: records}},
	} {
		inBubble(t, name, func(t *testing.T) {
			cc := crashCase{o: o, apart: true}
			cc.o.Buffer, cc.o.Memory, cc.o.Retain = 64<<10, 100<<10, LendUntilFlush // one window and a half
			s, v, parts := asyncModel(ranks)
			mem := vfs.NewMem()
			err := comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				w := need(createWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(mem, false)))
				data := make([][]float64, records)
				for rec := range data {
					data[rec] = make([]float64, w.Count(1))
					for i := range data[rec] {
						data[rec][i] = float64(rec*100 + c.Rank())
					}
					must(Put(w, v, int64(rec), data[rec]))
				}
				must(w.FlushAsync(ctx))
				return w.Close(ctx)
			})
			noError(t, err)
			r := opened(t, mem, "d.nc", nil)
			got := make([]float64, records*ranks<<10)
			noError(t, r.Read(t.Context(), "T", []int64{0, 0}, []int64{records, ranks << 10}, got))
			for i, x := range got {
				if want := float64(i/(ranks<<10)*100 + i%(ranks<<10)>>10); x != want {
					t.Fatalf("element %d is %v, want %v", i, x, want)
				}
			}
		})
	}
}
