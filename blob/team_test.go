package blob

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

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
