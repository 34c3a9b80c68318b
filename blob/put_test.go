package blob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// TestWideMapsAreKept: an appended set, and a conversion to blobs, have the
// int64 offsets of the first set without being asked for them.
func TestWideMapsAreKept(t *testing.T) {
	ctx := context.Background()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		s := NewSchema()
		tm := s.Dim("t", Unlimited)
		y, x := s.Dim("y", 70000), s.Dim("x", 70000)
		d := s.Decomp(y, x)
		v := s.Var("v", cdf5.Int, []DimID{tm, y, x}, Decomposed(d))
		name := filepath.Join(t.TempDir(), "w.nc")
		for session := range int64(2) {
			noError(t, comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []Part{{d, []decomp.Req{{Offset: 3_000_000_000 + int64(c.Rank())*100, Length: 2}}}}
				w, err := (*Writer)(nil), error(nil)
				if session == 0 {
					w, err = Create(ctx, c, name, s, parts, &Options{Layout: l, WideMaps: true})
				} else {
					w, err = Append(ctx, c, name, parts, nil)
				}
				must(err)
				must(Put(w, v, session, []int64{int64(c.Rank()), session}))
				return w.Close(ctx)
			}))
		}
		r := need(Open(ctx, name, nil))
		out := filepath.Join(t.TempDir(), "out.nc")
		noError(t, Convert(ctx, r, out, &ConvertOptions{Blobs: true, Layout: ProcessCentric - l}))
		r.Close()
		for _, name := range []string{name, out} {
			onlyNotes(t, l, vfs.OS, name)
			r := need(Open(ctx, name, nil))
			got := make([]int32, 4)
			if err := r.ReadRuns(ctx, "v", 1, []decomp.Req{{Offset: 3_000_000_100, Length: 2}, {Offset: 3_000_000_000, Length: 2}}, got); err != nil || fmt.Sprint(got) != "[1 1 0 1]" {
				t.Errorf("%v: %s: %v, %v", l, name, got, err)
			}
			r.Close()
		}
	}
}

// TestPutRefused: what cannot be put is an error of the Put itself, and nothing of it gets into the file.
func TestPutRefused(t *testing.T) {
	ctx := t.Context()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		for _, fixed := range []int64{0, 2} {
			mem := vfs.NewMem()
			s := NewSchema()
			tm, x := s.Dim("t", Unlimited), s.Dim("x", 4)
			d := s.Decomp(x)
			a := s.Var("a", cdf5.Short, []DimID{tm, x}, Decomposed(d))
			b := s.Var("b", cdf5.Int, []DimID{x})
			parts := []Part{{d, []decomp.Req{{Offset: 0, Length: 4}}}}
			refused := func(what string, got, want error) {
				t.Helper()
				if !errors.Is(got, want) {
					t.Errorf("%v, Records %d: %s: %v, want %v", l, fixed, what, got, want)
				}
			}
			w, err := createWith(ctx, comm.Self(), "d.nc", s, parts, &settings{Options: Options{Layout: l, Records: fixed}, knobs: knobs{fs: mem}})
			noError(t, err)
			must(errors.Join(Put(w, a, 0, []int16{1, 2, 3, 4}), Put(w, b, 0, []int32{10, 20, 30, 40}), Put(w, a, 1, []int16{5, 6, 7, 8})))
			for n := range 7 {
				if n != 4 {
					refused(fmt.Sprintf("%d elements of 4", n), Put(w, a, 1, make([]int16, n)), ErrUsage)
					refused(fmt.Sprintf("%d elements of 4, not decomposed", n), Put(w, b, 0, make([]int32, n)), ErrUsage)
				}
			}
			for _, q := range []struct{ start, count, n int64 }{{2, 3, 3}, {4, 1, 1}, {5, 0, 0}, {-1, 2, 2}, {0, -1, 0}, {0, 5, 5}, {1, 1<<63 - 1, 0}, {1, 2, 3}, {1, 2, 1}} {
				refused(fmt.Sprintf("%d from %d on, %d elements", q.count, q.start, q.n), PutAt(w, b, 0, []int64{q.start}, []int64{q.count}, make([]int32, q.n)), ErrUsage)
			}
			refused("a value out of range", Put(w, a, 1, []float64{0, 0, 40000, 0}), ErrRange)
			refused("a value out of range, in part", PutAt(w, b, 0, []int64{1}, []int64{1}, []float64{1e10}), ErrRange)
			refused("a record below 0", Put(w, a, -1, make([]int16, 4)), ErrUsage)
			refused("a record far beyond", Put(w, a, 2+maxRecordGap+1, make([]int16, 4)), ErrUsage)
			refused("a record of a fixed variable", Put(w, b, 1, make([]int32, 4)), ErrUsage)
			if l == ProcessCentric && fixed > 0 {
				refused("a record too many", Put(w, a, fixed, make([]int16, 4)), ErrUsage)
			}
			must(w.Close(ctx))

			w, err = appendWith(ctx, comm.Self(), "d.nc", parts, &settings{Options: Options{Records: fixed / 2}, knobs: knobs{fs: mem}})
			noError(t, err)
			a, _ = w.Schema().VarID("a")
			must(Put(w, a, 2, []int16{9, 10, 11, 12}))
			for rec := range int64(2) {
				refused("a committed record", Put(w, a, rec, make([]int16, 4)), ErrUsage)
			}
			b, _ = w.Schema().VarID("b")
			refused("a fixed variable of an append", Put(w, b, 0, make([]int32, 4)), ErrUsage)
			if l == ProcessCentric && fixed > 0 {
				refused("a record too many of an append", Put(w, a, 3, make([]int16, 4)), ErrUsage)
			}
			must(w.Close(ctx))

			wantSound(t, fmt.Sprintf("%v, Records %d", l, fixed), mem, "d.nc")
			r := need(openWith(ctx, "d.nc", nil, knobs{fs: mem}))
			got, fix := make([]int16, 12), make([]int32, 4)
			if err := errors.Join(r.Read(ctx, "a", nil, nil, got), r.Read(ctx, "b", nil, nil, fix)); err != nil || fmt.Sprint(got, fix) != "[1 2 3 4 5 6 7 8 9 10 11 12] [10 20 30 40]" {
				t.Errorf("%v, Records %d: %v %v, %v", l, fixed, got, fix, err)
			}
			r.Close()
		}
	}
}

// TestPutAgainFreesTheOneBefore: the memory cap counts what is kept, not what was.
func TestPutAgainFreesTheOneBefore(t *testing.T) {
	ctx := context.Background()
	const n = 1000
	for _, retain := range []Retain{LendUntilFlush, CopyOnPut} {
		name := filepath.Join(t.TempDir(), "x.h5")
		s := NewSchema()
		tm, col := s.Dim("time", Unlimited), s.Dim("ncol", n)
		d := s.Decomp(col)
		v := s.Var("R", cdf5.Double, []DimID{tm, col}, Decomposed(d))
		w := need(Create(ctx, comm.Self(), name, s, []Part{{d, []decomp.Req{{Offset: 0, Length: n}}}}, &Options{Layout: ProcessCentric, Retain: retain, Memory: 5 * 8 * n}))
		data := make([]float64, n)
		for k := range 20 {
			for i := range data {
				data[i] = float64(k*n + i)
			}
			noError(t, Put(w, v, int64(k%2), data))
			if err := w.Flush(ctx); err != nil {
				t.Fatalf("retain %d, flush %d: %v", retain, k, err)
			}
		}
		if err := Put(w, v, 1<<40, data); !errors.Is(err, ErrUsage) {
			t.Errorf("a record far beyond the others: %v", err)
		}
		noError(t, w.Close(ctx))
		r := need(Open(ctx, name, nil))
		got := make([]float64, 2*n)
		noError(t, r.Read(ctx, "R", nil, nil, got))
		r.Close()
		for i, x := range got {
			if want := float64((18+i/n)*n + i%n); x != want {
				t.Fatalf("R[%d][%d] = %v, want %v, of the last put", i/n, i%n, x, want)
			}
		}
	}
}
