package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// gate is a file system on which writes to subfiles wait until release is called. They then return err, if it is set.
type gate struct {
	vfs.FS
	open    chan struct{}
	waiting atomic.Int64
	written atomic.Int64 // bytes
	err     error        // set before open is closed
	once    sync.Once
}

func newGate(mem *vfs.Mem) *gate {
	g := &gate{open: make(chan struct{})}
	g.FS = vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind != vfs.OpWrite || strings.Contains(op.Name, "manifest") || strings.HasSuffix(op.Name, ".lock") {
			return nil
		}
		g.waiting.Add(1)
		<-g.open
		g.waiting.Add(-1)
		if g.err == nil {
			g.written.Add(int64(op.N))
		}
		return g.err
	})
	return g
}

func (g *gate) release(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.open)
	})
}

// asyncModel returns a schema with records of 8 KiB per rank.
func asyncModel(ranks int) (*dataset.Schema, dataset.VarID, func(rank int) []write.Part) {
	const per = 1 << 10
	s := dataset.NewSchema()
	tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", int64(ranks*per))
	d := s.Decomp(col)
	v := s.Var("T", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	must(s.Err)
	return s, v, func(rank int) []write.Part {
		return []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(rank * per), Length: per}}}}
	}
}

// asyncCases returns layouts and options for background flushes of lent data.
func asyncCases() map[string]crashCase {
	cases := map[string]crashCase{
		"variable":                {o: dataset.Settings{Options: dataset.Options{Subfiles: 2}}},
		"process":                 {o: dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 3}}},
		"apart own":               {o: dataset.Settings{Options: dataset.Options{OwnMin: 1, Subfiles: 2}}, apart: true},
		"apart memory":            {o: dataset.Settings{Options: dataset.Options{OwnMin: 1 << 30, Buffer: 64 << 10}}, apart: true},
		"apart messages":          {o: dataset.Settings{Options: dataset.Options{OwnMin: 1 << 30, Aggregators: 2}, Knobs: dataset.Knobs{Messages: true}}, apart: true},
		"apart process":           {o: dataset.Settings{Options: dataset.Options{OwnMin: 1 << 30, Layout: dataset.ProcessCentric, Records: 3}}, apart: true},
		"apart, striped":          {o: dataset.Settings{Options: dataset.Options{OwnMin: 1, Stripe: dataset.Stripe{Size: 4096}}}, apart: true},
		"compressed":              {o: dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 3, Compress: dataset.Compress{Method: dataset.AutoCompression}}}},
		"apart, compressed":       {o: dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 3, Compress: dataset.Compress{Method: dataset.ShuffleZstd}}}, apart: true},
		"apart, compressed twice": {o: dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 3, Compress: dataset.Compress{Method: dataset.Zstd}, Memory: 10}}, apart: true},
		"apart and small":         {o: dataset.Settings{Options: dataset.Options{OwnMin: 1 << 30, Buffer: 64 << 10, Memory: 100}}, apart: true},
	}
	for name, cc := range cases {
		cc.o.Retain = dataset.LendUntilFlush
		cases[name] = cc
	}
	return cases
}

// until waits until f returns true, or returns an error after a minute of the bubble's clock.
func until(what string, f func() bool) error {
	for range 60_000 {
		if f() {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s: not after a minute", what)
}

// TestFlushAsync checks that FlushAsync returns before any byte is written, and that ranks can put more data meanwhile. The
// background write ends without another call.
func TestFlushAsync(t *testing.T) {
	const ranks = 4
	for name, cc := range asyncCases() {
		if name == "apart and small" || cc.o.Compress.On() { // the first has no memory for waiting data; compression changes the number of bytes
			continue
		}
		inBubble(t, name, func(t *testing.T) {
			s, v, parts := asyncModel(ranks)
			mem := vfs.NewMem()
			g := newGate(mem)
			var first, second atomic.Int64
			err := run(ranks, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false)))
				bufs := [2][]float64{make([]float64, w.Job.Count(1)), make([]float64, w.Job.Count(1))}
				for rec := range int64(2) {
					x := bufs[rec]
					for i := range x {
						x[i] = float64(rec*100 + int64(c.Rank()))
					}
					must(write.Put(w, v, rec, x))
					if rec == 0 {
						must(w.FlushAsync(ctx))
						must(c.Barrier(ctx))
						if g.written.Load() != 0 {
							return errors.New("something is written already")
						}
						must(c.Barrier(ctx))
					}
				}
				if c.Rank() == 0 {
					must(until("somebody writes", func() bool { return g.waiting.Load() > 0 }))
					g.release(nil)
				}
				must(until("record 0 is written", func() bool { return g.written.Load() >= ranks*8<<10 }))
				must(w.Wait(ctx))
				first.Store(g.written.Load())
				clear(bufs[0])
				if err := c.Barrier(ctx); err != nil { // otherwise the count may include record 1 of another rank
					return err
				}
				must(w.FlushAsync(ctx))
				must(w.Wait(ctx))
				second.Store(g.written.Load())
				clear(bufs[1])
				if err := w.Wait(ctx); err != nil { // no flush is under way
					return err
				}
				return w.Close(ctx)
			})
			g.release(nil)
			noError(t, err)
			if second.Load()-first.Load() < ranks*8<<10 {
				t.Fatalf("%d bytes written at the second Wait, %d at the first", second.Load(), first.Load())
			}
			r := opened(t, mem, "d.nc", nil)
			got := make([]float64, 2*ranks<<10)
			noError(t, r.Read(context.Background(), "T", []int64{0, 0}, []int64{2, ranks << 10}, got))
			for i, x := range got {
				if want := float64(i/(ranks<<10)*100 + i%(ranks<<10)>>10); x != want {
					t.Fatalf("element %d is %v, want %v", i, x, want)
				}
			}
		})
	}
}

// TestFlushAsyncSyncs checks that a background flush syncs large amounts of data before Close, unless Options.Durability is
// DurableNone.
func TestFlushAsyncSyncs(t *testing.T) {
	for _, d := range []dataset.Durability{dataset.DurableCommit, dataset.DurableData, dataset.DurableNone} {
		bubble(t, func(t *testing.T) {
			m := tinyModel(1, 3)
			mem := vfs.NewMem()
			var syncs, atClose atomic.Int64
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind == vfs.OpSync && !strings.Contains(op.Name, "manifest") {
					syncs.Add(1)
				}
				return nil
			})
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Durability: d}, Knobs: dataset.Knobs{Fs: fsys, SyncMin: 1}}))
				must(m.putRecord(w, 0, c.Rank(), true))
				must(w.FlushAsync(ctx))
				must(w.Wait(ctx))
				if d != dataset.DurableNone {
					must(until("it is synced", func() bool { return syncs.Load() > 0 }))
				}
				atClose.Store(syncs.Load())
				must(c.Barrier(ctx)) // otherwise the count may include syncs of another rank's Close
				return w.Close(ctx)
			}))
			if want := map[dataset.Durability]int64{dataset.DurableCommit: 1, dataset.DurableData: 1}[d]; atClose.Load() != want {
				t.Errorf("durability %d: %d syncs before Close, want %d", d, atClose.Load(), want)
			}
		})
	}
}
