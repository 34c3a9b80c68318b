package blob

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// paired is a Comm of processes that run two ranks each.
type paired struct {
	comm.Comm
	world int
}

func (p paired) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c, err := p.Comm.Split(ctx, color, key)
	if c != nil {
		c = paired{c, p.world}
	}
	return c, err
}

func (p paired) Share(ctx context.Context, v any) ([]any, error) {
	worlds, err := p.Comm.Share(ctx, p.world)
	if err != nil {
		return nil, err
	}
	all, err := p.Comm.Share(ctx, v)
	all = slices.Clone(all)
	for r := range all {
		if worlds[r].(int)/2 != p.world/2 {
			all[r] = nil
		}
	}
	return all, err
}

// TestSomeShareAHeap: the files do not depend on who shares a heap with whom, nor on what is put again.
func TestSomeShareAHeap(t *testing.T) {
	m := tinyModel(3, 5)
	for _, o := range []Options{
		{Subfiles: 2}, {Subfiles: 1, Retain: LendUntilFlush}, {Layout: ProcessCentric, Subfiles: 2}, {Layout: ProcessCentric, Subfiles: 1, Records: m.records},
	} {
		want := map[string][]byte{}
		for _, wrap := range []func(c comm.Comm) comm.Comm{
			func(c comm.Comm) comm.Comm { return c },
			func(c comm.Comm) comm.Comm { return paired{c, c.Rank()} },
			comm.Isolate,
		} {
			mem := vfs.NewMem()
			if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w := need(createWith(ctx, wrap(c), "d.nc", m.s, m.parts(c.Rank()), &settings{Options: o, knobs: knobs{fs: mem}}))
				defer w.Abort()
				for rec := range m.records {
					must(m.putRecord(w, rec, c.Rank(), rec == 0))
					must(w.Flush(ctx))
					if c.Rank() == 1 { // again
						must(m.putRecord(w, rec, c.Rank(), false))
					}
					must(w.FlushAsync(ctx))
				}
				return w.Close(ctx)
			}); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			for k := range o.Subfiles {
				name := subfile.Name("d.nc", k)
				got, err := vfs.ReadFile(mem, name, 1<<20)
				noError(t, err)
				if want[name] == nil {
					want[name] = got
				} else if !bytes.Equal(got, want[name]) {
					t.Errorf("%+v: %s is another", o, name)
				}
			}
			for f := range checkWith(t.Context(), "d.nc", nil, knobs{fs: mem}) {
				if f.Severity > Note {
					t.Errorf("%+v: %v", o, f)
				}
			}
		}
	}
}

// TestAggregators: on each node as many as asked for, spread over its ranks, and with few servers an equal number for each. With as many
// servers as nodes each server has those of one node.
func TestAggregators(t *testing.T) {
	homes := []int64{0, 0, 0, 0, 0, 5, 5, 5, 8}
	for _, tc := range []struct {
		o    Options
		want []int
	}{
		{Options{}, []int{0, 5, 8}},
		{Options{Aggregators: 1}, []int{0, 5, 8}},
		{Options{Aggregators: 2}, []int{0, 5, 8, 2, 6}},
		{Options{Aggregators: 3}, []int{0, 5, 8, 1, 6, 3, 7}},
		{Options{Aggregators: 9}, []int{0, 5, 8, 1, 6, 2, 7, 3, 4}},
		{Options{Aggregators: 2, Stripe: Stripe{Size: 4096, Count: 2}}, []int{0, 5, 8, 2}},
		{Options{Aggregators: 2, Stripe: Stripe{Size: 4096, Count: 3}}, []int{0, 5, 8}},
	} {
		tm := &team{c: comm.Self()}
		tm.choose(homes, &tc.o)
		if !slices.Equal(tm.aggs, tc.want) || tm.slot != 0 {
			t.Errorf("%d on each node, %d servers: %v, want %v; rank 0 is number %d", tc.o.Aggregators, tc.o.Stripe.Count, tm.aggs, tc.want, tm.slot)
		}
	}
}

// TestRoomIsReserved: a flush reserves the room of all that it writes, so that a full disk is found before the data are cut short.
func TestRoomIsReserved(t *testing.T) {
	m := tinyModel(1, 2)
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		for _, apart := range []bool{false, true} {
			var mu sync.Mutex
			reserved, written := map[string]int64{}, map[string]int64{} // up to where, by file
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
				if apart {
					c = comm.Isolate(c)
				}
				w := need(createWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &settings{Options: Options{Layout: layout, Subfiles: 2, Records: m.records}, knobs: knobs{fs: fsys}}))
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
