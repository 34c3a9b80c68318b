package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
)

// TestAheadParts: a put of a part over that of the whole is written by a flush that repeats the last one's variables, too: what was
// lent for it may be used again.
func TestAheadParts(t *testing.T) {
	m := tinyModel(1, 3)
	const clock = VarID(3)
	mem := vfs.NewMem()
	o := settings{knobs: knobs{fs: mem}, Options: Options{Retain: LendUntilFlush, Subfiles: 1}}
	noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		w, err := createWith(ctx, comm.Isolate(c), "d.nc", m.s, m.parts(c.Rank()), &o)
		must(err)
		defer w.Abort()
		for rec := range m.records {
			err := m.putRecord(w, rec, c.Rank(), rec == 0)
			part := []float64{float64(10 + rec)}
			err = errors.Join(err, PutAt(w, clock, rec, nil, nil, part))
			must(errors.Join(err, w.Flush(ctx)))
			part[0] = -1
		}
		return w.Close(ctx)
	}))
	err := run(1, func(ctx context.Context, c comm.Comm) error {
		r := need(openWith(ctx, "d.nc", nil, knobs{fs: mem}))
		defer r.Close()
		got := make([]float64, m.records)
		if err := r.Read(ctx, "time", []int64{0}, []int64{m.records}, got); err != nil || !slices.Equal(got, []float64{10, 11, 12}) {
			return fmt.Errorf("%v, want 10, 11, 12 (%v)", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// meeting calls before when its rank is about to agree with the others.
type meeting struct {
	counting
	before func()
}

func (c meeting) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	c.before()
	return c.counting.AllreduceInt64(ctx, v, op)
}

// TestAheadOfFlight: a record is put again while an aggregator still has what was put before in the background; that is never written over the
// new value.
func TestAheadOfFlight(t *testing.T) {
	const (
		ranks = 4
		elems = 1000 // of what is not decomposed: more than one window
		late  = 2    // the second aggregator
	)
	s := NewSchema()
	tm, x, col := s.Dim("time", Unlimited), s.Dim("x", elems), s.Dim("ncol", ranks)
	d := s.Decomp(col)
	v := s.Var("v", cdf5.Double, []DimID{tm, col}, Decomposed(d))
	clock := s.Var("clock", cdf5.Double, []DimID{tm, x})
	mem := vfs.NewMem()
	var held atomic.Bool
	met := make(chan struct{}) // rank 0 has done of the second flush what it does alone
	if err := run(ranks, func(ctx context.Context, in comm.Comm) error {
		r := in.Rank()
		c := meeting{count(in), func() {
			if r == 0 && held.CompareAndSwap(true, false) {
				close(met)
			}
		}}
		o := settings{Options: Options{Subfiles: 1, OwnMin: 1, Aggregators: 2}}
		o.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if r == late && op.Kind == vfs.OpWrite && op.Off > 8*elems { // not its own of v
				<-met
			}
			return nil
		})
		w := need(createWith(ctx, c, "d.nc", s, []Part{{d, []decomp.Req{{Offset: int64(r), Length: 1}}}}, &o))
		defer w.Abort()
		put := func(rec int64, value float64) error {
			return errors.Join(Put(w, v, rec, []float64{value}), Put(w, clock, rec, slices.Repeat([]float64{value}, elems)))
		}
		must(errors.Join(put(0, 1), put(1, 1), w.FlushAsync(ctx)))
		if r == 0 {
			held.Store(true)
		}
		must(errors.Join(put(1, 2), put(2, 2), w.Flush(ctx)))
		return w.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	for _, f := range checkErrors(mem, "d.nc") {
		t.Error(f)
	}
	if err := run(1, func(ctx context.Context, c comm.Comm) error {
		r, err := openWith(ctx, "d.nc", nil, knobs{fs: mem})
		must(err)
		defer r.Close()
		got := make([]float64, elems)
		err = r.Read(ctx, "clock", []int64{1, 0}, []int64{1, elems}, got)
		if want := slices.Repeat([]float64{2}, elems); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("element %d is of the flush before", slices.Index(got, 1))
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
