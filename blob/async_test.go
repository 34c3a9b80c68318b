package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// gate is a file system on which writes to subfiles wait until it is opened, and fail with err then.
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

// asyncModel has records of 8 KiB per rank.
func asyncModel(ranks int) (*Schema, VarID, func(rank int) []Part) {
	const per = 1 << 10
	s := NewSchema()
	tm, col := s.Dim("time", Unlimited), s.Dim("ncol", int64(ranks*per))
	d := s.Decomp(col)
	v := s.Var("T", cdf5.Double, []DimID{tm, col}, Decomposed(d))
	must(s.Err())
	return s, v, func(rank int) []Part {
		return []Part{{d, []decomp.Req{{Offset: int64(rank * per), Length: per}}}}
	}
}

// asyncCases are ways to write; the data are lent.
func asyncCases() map[string]crashCase {
	cases := map[string]crashCase{
		"variable":                {o: settings{Options: Options{Subfiles: 2}}},
		"process":                 {o: settings{Options: Options{Layout: ProcessCentric, Records: 3}}},
		"apart own":               {o: settings{Options: Options{Subfiles: 2}, knobs: knobs{ownMin: 1}}, apart: true},
		"apart memory":            {o: settings{Options: Options{Buffer: 64 << 10}, knobs: knobs{ownMin: 1 << 30}}, apart: true},
		"apart messages":          {o: settings{Options: Options{Aggregators: 2}, knobs: knobs{ownMin: 1 << 30, messages: true}}, apart: true},
		"apart process":           {o: settings{Options: Options{Layout: ProcessCentric, Records: 3}, knobs: knobs{ownMin: 1 << 30}}, apart: true},
		"apart, striped":          {o: settings{Options: Options{Stripe: Stripe{Size: 4096}}, knobs: knobs{ownMin: 1}}, apart: true},
		"compressed":              {o: settings{Options: Options{Layout: ProcessCentric, Records: 3, Compress: Compress{Method: AutoCompression}}}},
		"apart, compressed":       {o: settings{Options: Options{Layout: ProcessCentric, Records: 3, Compress: Compress{Method: ShuffleZstd}}}, apart: true},
		"apart, compressed twice": {o: settings{Options: Options{Layout: ProcessCentric, Records: 3, Compress: Compress{Method: Zstd}, Memory: 10}}, apart: true},
		"apart and small":         {o: settings{Options: Options{Buffer: 64 << 10, Memory: 100}, knobs: knobs{ownMin: 1 << 30}}, apart: true},
	}
	for name, cc := range cases {
		cc.o.Retain = LendUntilFlush
		cases[name] = cc
	}
	return cases
}

// until waits for what happens in the background. Only what never happens takes its minute.
func until(what string, f func() bool) error {
	for range 60_000 {
		if f() {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s: not after a minute", what)
}

// TestFlushAsync: the call returns while no byte can be written, more is put meanwhile, and all is written
// without another call.
func TestFlushAsync(t *testing.T) {
	const ranks = 4
	for name, cc := range asyncCases() {
		if name == "apart and small" || cc.o.Compress.on() { // no room for what waits; fewer bytes
			continue
		}
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s, v, parts := asyncModel(ranks)
			mem := vfs.NewMem()
			g := newGate(mem)
			var first, second atomic.Int64
			err := run(ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := createWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false))
				if err != nil {
					return err
				}
				bufs := [2][]float64{make([]float64, w.Count(1)), make([]float64, w.Count(1))}
				for rec := range int64(2) {
					x := bufs[rec]
					for i := range x {
						x[i] = float64(rec*100 + int64(c.Rank()))
					}
					if err := Put(w, v, rec, x); err != nil {
						return err
					}
					if rec == 0 {
						if err := w.FlushAsync(ctx); err != nil {
							return err
						}
						if err := c.Barrier(ctx); err != nil {
							return err
						}
						if g.written.Load() != 0 {
							return errors.New("something is written already")
						}
						if err := c.Barrier(ctx); err != nil {
							return err
						}
					}
				}
				if c.Rank() == 0 {
					if err := until("somebody writes", func() bool { return g.waiting.Load() > 0 }); err != nil {
						return err
					}
					g.release(nil)
				}
				if err := until("record 0 is written", func() bool { return g.written.Load() >= ranks*8<<10 }); err != nil {
					return err
				}
				if err := w.Wait(ctx); err != nil {
					return err
				}
				first.Store(g.written.Load())
				clear(bufs[0])
				if err := c.Barrier(ctx); err != nil { // or another rank's record 1 is in first
					return err
				}
				if err := w.FlushAsync(ctx); err != nil {
					return err
				}
				if err := w.Wait(ctx); err != nil {
					return err
				}
				second.Store(g.written.Load())
				clear(bufs[1])
				if err := w.Wait(ctx); err != nil { // nothing to wait for
					return err
				}
				return w.Close(ctx)
			})
			g.release(nil)
			if err != nil {
				t.Fatal(err)
			}
			if second.Load()-first.Load() < ranks*8<<10 {
				t.Fatalf("%d bytes written at the second Wait, %d at the first", second.Load(), first.Load())
			}
			noGoroutines(t, before)
			r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := make([]float64, 2*ranks<<10)
			if err := r.Read(context.Background(), "T", []int64{0, 0}, []int64{2, ranks << 10}, got); err != nil {
				t.Fatal(err)
			}
			for i, x := range got {
				if want := float64(i/(ranks<<10)*100 + i%(ranks<<10)>>10); x != want {
					t.Fatalf("element %d is %v, want %v", i, x, want)
				}
			}
		})
	}
}

// TestFlushAsyncBytes: the files are those of the synchronous flush.
func TestFlushAsyncBytes(t *testing.T) {
	for _, cc := range crashCases() {
		if strings.HasPrefix(cc.name, "async") {
			continue
		}
		t.Run(cc.name, func(t *testing.T) {
			m := tinyModel(1, 3)
			var files [2]map[string][]byte
			for k := range files {
				mem := vfs.NewMem()
				o := cc.with(mem, false)
				o.syncMin = int64(k)
				if k == 1 && cc.apart && o.Layout == VariableCentric {
					o.Memory = 100
				}
				if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, cc.comm(c), "d.nc", o) }); err != nil {
					t.Fatal(err)
				}
				files[k] = map[string][]byte{}
				for i := 0; ; i++ {
					b, err := vfs.ReadFile(mem, subfile.Name("d.nc", i), 1<<20)
					if err != nil {
						break
					}
					files[k][subfile.Name("d.nc", i)] = b
				}
			}
			if len(files[0]) == 0 || len(files[0]) != len(files[1]) {
				t.Fatalf("%d and %d subfiles", len(files[0]), len(files[1]))
			}
			for n, b := range files[0] {
				if !bytes.Equal(b, files[1][n]) {
					t.Fatalf("%s: %s", n, firstDiff(b, files[1][n]))
				}
			}
		})
	}
}

// TestFlushAsyncError: an error in the background comes from the next collective, on every rank, and
// the writer has failed.
func TestFlushAsyncError(t *testing.T) {
	const ranks = 4
	next := map[string]func(w *Writer, ctx context.Context) error{
		"Flush": (*Writer).Flush, "FlushAsync": (*Writer).FlushAsync, "Wait": (*Writer).Wait, "Close": (*Writer).Close,
	}
	for name, cc := range asyncCases() {
		for call, f := range next {
			t.Run(name+"/"+call, func(t *testing.T) {
				before := runtime.NumGoroutine()
				s, v, parts := asyncModel(ranks)
				mem := vfs.NewMem()
				g := newGate(mem)
				errs, err := eachRank(ranks, func(ctx context.Context, c comm.Comm) error {
					w, err := createWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false))
					if err != nil {
						return err
					}
					x := make([]float64, w.Count(1))
					if err := Put(w, v, 0, x); err != nil {
						return err
					}
					if name == "apart and small" {
						g.release(errDisk) // aggregators wait in the call
					}
					if err := w.FlushAsync(ctx); err != nil && name != "apart and small" {
						return err
					}
					if name != "apart and small" {
						if err := Put(w, v, 1, x); err != nil {
							return err
						}
					}
					g.release(errDisk)
					err = f(w, ctx)
					if put := Put(w, v, 2, x); !errors.Is(put, ErrBroken) && !errors.Is(put, ErrUsage) {
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
				noGoroutines(t, before)
				if state := seen(t, crash{fs: mem, when: "afterwards"}, "d.nc", nil, nil); state != "none" {
					t.Errorf("a dataset is there: %v", names(mem, "."))
				}
			})
		}
	}
}

// TestFlushAsyncMemory: a put that exceeds the cap waits for what is under way; what can never fit is an error.
func TestFlushAsyncMemory(t *testing.T) {
	const ranks, size = 4, 8 << 10
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			s, v, parts := asyncModel(ranks)
			g := newGate(vfs.NewMem())
			var through atomic.Int64
			if err := run(ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := createWith(ctx, c, "d.nc", s, parts(c.Rank()), &settings{Options: Options{Layout: layout, Records: 5, Retain: CopyOnPut, Memory: ranks*size + size}, knobs: knobs{fs: g}})
				if err != nil {
					return err
				}
				x := make([]float64, w.Count(1))
				if err := Put(w, v, 0, x); err != nil {
					return err
				}
				if err := w.FlushAsync(ctx); err != nil {
					return err
				}
				if c.Rank() == 0 {
					go func() {
						time.Sleep(20 * time.Millisecond)
						if n := through.Load(); n > 1 {
							t.Errorf("%d puts went through, there is room for one", n)
						}
						g.release(nil)
					}()
				}
				if err := Put(w, v, 1, x); err != nil {
					return err
				}
				through.Add(1)
				if err := w.FlushAsync(ctx); err != nil {
					return err
				}
				for rec := range int64(2) { // the first waits, the second can never fit
					err = errors.Join(err, Put(w, v, 2+rec, x))
				}
				if err := w.Wait(ctx); err != nil {
					return err
				}
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
		"memory":   {knobs: knobs{ownMin: 1 << 30}},
		"messages": {Options: Options{Aggregators: 2}, knobs: knobs{ownMin: 1 << 30, messages: true}},
		"some own": {knobs: knobs{ownMin: 16 << 10}},
		"process":  {Options: Options{Layout: ProcessCentric, Records: records}, knobs: knobs{ownMin: 1 << 30}},
	} {
		t.Run(name, func(t *testing.T) {
			cc := crashCase{o: o, apart: true}
			cc.o.Buffer, cc.o.Memory, cc.o.Retain = 64<<10, 100<<10, LendUntilFlush // one window and a half
			s, v, parts := asyncModel(ranks)
			mem := vfs.NewMem()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			err := comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
				w, err := createWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(mem, false))
				if err != nil {
					return err
				}
				data := make([][]float64, records)
				for rec := range data {
					data[rec] = make([]float64, w.Count(1))
					for i := range data[rec] {
						data[rec][i] = float64(rec*100 + c.Rank())
					}
					if err := Put(w, v, int64(rec), data[rec]); err != nil {
						return err
					}
				}
				if err := w.FlushAsync(ctx); err != nil {
					return err
				}
				return w.Close(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
			r, err := openWith(ctx, "d.nc", nil, knobs{fs: mem})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := make([]float64, records*ranks<<10)
			if err := r.Read(ctx, "T", []int64{0, 0}, []int64{records, ranks << 10}, got); err != nil {
				t.Fatal(err)
			}
			for i, x := range got {
				if want := float64(i/(ranks<<10)*100 + i%(ranks<<10)>>10); x != want {
					t.Fatalf("element %d is %v, want %v", i, x, want)
				}
			}
		})
	}
}

// TestFlushAsyncStopped: Abort of any rank, a cancelled context, and ranks that just return end what is in the background.
func TestFlushAsyncStopped(t *testing.T) {
	const ranks = 4
	errMine := errors.New("mine")
	for name, cc := range asyncCases() {
		if name == "apart and small" {
			continue
		}
		for who := range ranks {
			for _, how := range []string{"abort", "cancel", "return"} {
				t.Run(fmt.Sprintf("%s/%s %d", name, how, who), func(t *testing.T) {
					before := runtime.NumGoroutine()
					s, v, parts := asyncModel(ranks)
					mem := vfs.NewMem()
					g := newGate(mem)
					err := run(ranks, func(ctx context.Context, c comm.Comm) error {
						w, err := createWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(g, false))
						if err != nil {
							return err
						}
						if err := Put(w, v, 0, make([]float64, w.Count(1))); err != nil {
							return err
						}
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
							time.AfterFunc(5*time.Millisecond, func() { g.release(nil) }) // Abort waits for the write that is under way
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
					noGoroutines(t, before)
					if state := seen(t, crash{fs: mem, when: how}, "d.nc", nil, nil); state != "none" {
						t.Fatalf("a dataset is there: %v", names(mem, "."))
					}
				})
			}
		}
	}
}

// TestFlushAsyncSyncs: large amounts are synced before Close, unless nothing is to be synced.
func TestFlushAsyncSyncs(t *testing.T) {
	for _, d := range []Durability{DurableCommit, DurableData, DurableNone} {
		m := tinyModel(1, 3)
		mem := vfs.NewMem()
		var syncs, atClose atomic.Int64
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpSync && !strings.Contains(op.Name, "manifest") {
				syncs.Add(1)
			}
			return nil
		})
		if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := createWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &settings{Options: Options{Durability: d}, knobs: knobs{fs: fsys, syncMin: 1}})
			if err != nil {
				return err
			}
			if err := m.putRecord(w, 0, c.Rank(), true); err != nil {
				return err
			}
			if err := w.FlushAsync(ctx); err != nil {
				return err
			}
			if err := w.Wait(ctx); err != nil {
				return err
			}
			if d != DurableNone {
				if err := until("it is synced", func() bool { return syncs.Load() > 0 }); err != nil {
					return err
				}
			}
			atClose.Store(syncs.Load())
			if err := c.Barrier(ctx); err != nil { // or another rank's Close is in it
				return err
			}
			return w.Close(ctx)
		}); err != nil {
			t.Fatal(err)
		}
		if want := map[Durability]int64{DurableCommit: 1, DurableData: 1}[d]; atClose.Load() != want {
			t.Errorf("durability %d: %d syncs before Close, want %d", d, atClose.Load(), want)
		}
	}
}
