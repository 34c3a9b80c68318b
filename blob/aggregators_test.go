package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestAggregators checks the choice of aggregators. Each node gets the requested number, spread over its ranks. The total is a
// multiple of the number of file servers if there are fewer servers than aggregators.
func TestAggregators(t *testing.T) {
	homes := []int64{0, 0, 0, 0, 0, 5, 5, 5, 8}
	for _, tc := range []struct {
		o    dataset.Options
		want []int
	}{
		{dataset.Options{}, []int{0, 5, 8}},
		{dataset.Options{Aggregators: 1}, []int{0, 5, 8}},
		{dataset.Options{Aggregators: 2}, []int{0, 5, 8, 2, 6}},
		{dataset.Options{Aggregators: 3}, []int{0, 5, 8, 1, 6, 3, 7}},
		{dataset.Options{Aggregators: 9}, []int{0, 5, 8, 1, 6, 2, 7, 3, 4}},
		{dataset.Options{Aggregators: 2, Stripe: dataset.Stripe{Size: 4096, Count: 2}}, []int{0, 5, 8, 2}},
		{dataset.Options{Aggregators: 2, Stripe: dataset.Stripe{Size: 4096, Count: 3}}, []int{0, 5, 8}},
	} {
		tm := &write.Team{C: comm.Self()}
		tm.Choose(homes, &tc.o)
		if !slices.Equal(tm.Aggs, tc.want) || tm.Slot != 0 {
			t.Errorf("%d on each node, %d servers: %v, want %v; rank 0 is number %d", tc.o.Aggregators, tc.o.Stripe.Count, tm.Aggs, tc.want, tm.Slot)
		}
	}
}

// TestRoomIsReserved checks that a flush reserves disk space for all its data. A full disk is then found before any data are
// written.
func TestRoomIsReserved(t *testing.T) {
	m := tinyModel(1, 2)
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, apart := range []bool{false, true} {
			var mu sync.Mutex
			reserved, written := map[string]int64{}, map[string]int64{} // highest end offset in each file
			fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case !strings.HasPrefix(op.Name, "d.nc.0"):
				case op.Kind == vfs.OpAllocate:
					reserved[op.Name] = max(reserved[op.Name], op.Off+op.N)
				case op.Kind == vfs.OpWrite:
					written[op.Name] = max(written[op.Name], op.Off+op.N)
				}
				return nil
			})
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				c = isolateIf(c, apart)
				w := need(write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Records: m.records}, Knobs: dataset.Knobs{Fs: fsys}}))
				defer w.Abort()
				for rec := range m.records {
					must(m.putRecord(w, rec, c.Rank(), rec == 0))
					must(w.Flush(ctx))
				}
				return c.Barrier(ctx)
			}))
			if len(written) != 2 {
				t.Errorf("%v, apart %v: written to %v", layout, apart, written)
			}
			for name, end := range written {
				if reserved[name] < end {
					t.Errorf("%v, apart %v: %s is written up to %d, reserved up to %d", layout, apart, name, end, reserved[name])
				}
			}
		}
	}
}

var rankInText = regexp.MustCompile(`\brank (\d+)`)

// TestFailedRank lets each operation of each rank fail once in a session with commits. All ranks get an error that names the
// failed rank and has the class of its error.
func TestFailedRank(t *testing.T) {
	kinds := []error{vfs.ErrNoSpace, fs.ErrPermission, io.ErrUnexpectedEOF, dataset.ErrTooLarge, errDisk}
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		if !sc.apart || sc.ranks < 3 { // with a shared heap one rank writes the data of others
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := sc.model(3)
			var told most
			// session lets operation n of rank who fail; a negative n means no failure. It returns the operations of that rank and the
			// errors of all ranks.
			session := func(who, n int, kind error) (ops []vfs.Op, errs []error) {
				mem, fails := vfs.NewMem(), crashtest.Fails(kind)
				var mu sync.Mutex
				faulty := vfs.NewFault(mem, func(op vfs.Op) error {
					mu.Lock()
					defer mu.Unlock()
					if ops = append(ops, op); len(ops)-1 != n {
						return nil
					}
					return fails.Hook(op)
				})
				errs, _ = eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
					var fsys vfs.FS = mem
					if c.Rank() == who {
						fsys = faulty
					}
					o := sc.with(fsys, false)
					if o.Records > 0 {
						o.Records = m.records
					}
					return sc.writeCommits(ctx, c, m, o, false, told.tell)
				})
				return ops, errs
			}
			for who := range m.ranks {
				whole, errs := session(who, -1, nil)
				must(errors.Join(errs...))
				for n := range whole {
					if n%times(3, 1) != 0 && whole[n].Kind != vfs.OpSync {
						continue
					}
					kind := kinds[n%len(kinds)]
					ops, errs := session(who, n, kind)
					if len(ops) <= n || errors.Join(errs...) == nil && (mayIgnore(ops[n]) || writtenLater(ops[n], kind)) {
						continue
					}
					op := ops[n]
					for r, err := range errs {
						re, named := (*comm.RankError)(nil), false
						if err != nil {
							named = true
							for _, x := range rankInText.FindAllStringSubmatch(err.Error(), -1) {
								named = named && x[1] == strconv.Itoa(who)
							}
						}
						if !named || !tells(err, kind) || !errors.As(err, &re) || re.Rank != who {
							t.Errorf("%v of rank %d fails with %q: rank %d has %v", op, who, kind, r, err)
						}
					}
				}
			}
		})
	}
}

// TestFlushAsyncMemory checks that a put that exceeds the memory limit waits for the background flush. A put that is larger
// than the limit is an error.
func TestFlushAsyncMemory(t *testing.T) {
	const ranks, size = 4, 8 << 10
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		inBubble(t, layout.String(), func(t *testing.T) {
			s, v, parts := asyncModel(ranks)
			g := newGate(vfs.NewMem())
			var through atomic.Int64
			noError(t, run(ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := write.CreateWith(ctx, c, "d.nc", s, parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Layout: layout, Records: 5, Retain: dataset.CopyOnPut, Memory: ranks*size + size}, Knobs: dataset.Knobs{Fs: g}})
				must(err)
				x := make([]float64, w.Job.Count(1))
				must(write.Put(w, v, 0, x))
				must(w.FlushAsync(ctx))
				if c.Rank() == 0 {
					go func() {
						time.Sleep(time.Millisecond) // the bubble's clock advances only when all ranks wait
						if n := through.Load(); n > 1 {
							t.Errorf("%d puts went through, there is room for one", n)
						}
						g.release(nil)
					}()
				}
				must(write.Put(w, v, 1, x))
				through.Add(1)
				must(w.FlushAsync(ctx))
				for rec := range int64(2) { // the first put waits; the second can never fit
					err = errors.Join(err, write.Put(w, v, 2+rec, x))
				}
				must(w.Wait(ctx))
				all, aerr := c.AllreduceInt64(ctx, []int64{map[bool]int64{true: 1}[errors.Is(err, dataset.ErrTooLarge)]}, comm.Sum)
				if aerr != nil || all[0] == 0 {
					return fmt.Errorf("no rank met the cap: %v", aerr)
				}
				w.Job.Eng.Proc.Mu.Lock()
				used, flights := w.Job.Eng.Proc.Used, w.Job.Eng.Proc.Flights
				w.Job.Eng.Proc.Mu.Unlock()
				if used > ranks*size+size || flights != 0 {
					return fmt.Errorf("%d bytes in copies, %d flushes on the way", used, flights)
				}
				return w.Close(ctx)
			}))
		})
	}
}

// TestFlushAsyncWindows checks that FlushAsync waits if Options.Memory holds only some of its windows.
func TestFlushAsyncWindows(t *testing.T) {
	const ranks, records = 4, 20
	for name, o := range map[string]dataset.Settings{
		"memory":   {Options: dataset.Options{OwnMin: 1 << 30}},
		"messages": {Options: dataset.Options{OwnMin: 1 << 30, Aggregators: 2}, Knobs: dataset.Knobs{Messages: true}},
		"some own": {Options: dataset.Options{OwnMin: 16 << 10}},
		"process":  {Options: dataset.Options{OwnMin: 1 << 30, Layout: dataset.ProcessCentric, Records: records}},
	} {
		inBubble(t, name, func(t *testing.T) {
			cc := crashCase{o: o, apart: true}
			cc.o.Buffer, cc.o.Memory, cc.o.Retain = 64<<10, 100<<10, dataset.LendUntilFlush // memory for one and a half windows
			s, v, parts := asyncModel(ranks)
			mem := vfs.NewMem()
			noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", s, parts(c.Rank()), cc.with(mem, false)))
				data := make([][]float64, records)
				for rec := range data {
					data[rec] = make([]float64, w.Job.Count(1))
					for i := range data[rec] {
						data[rec][i] = float64(rec*100 + c.Rank())
					}
					must(write.Put(w, v, int64(rec), data[rec]))
				}
				must(w.FlushAsync(ctx))
				return w.Close(ctx)
			}))
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
