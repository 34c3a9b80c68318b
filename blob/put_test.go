package blob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// TestWideMapsAreKept checks that an append and a conversion to blobs use int64 offsets if the first set has them.
func TestWideMapsAreKept(t *testing.T) {
	ctx := context.Background()
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		s := dataset.NewSchema()
		tm := s.Dim("t", dataset.Unlimited)
		y, x := s.Dim("y", 70000), s.Dim("x", 70000)
		d := s.Decomp(y, x)
		v := s.Var("v", cdf5.Int, []dataset.DimID{tm, y, x}, dataset.Decomposed(d))
		name := filepath.Join(t.TempDir(), "w.nc")
		for session := range int64(2) {
			noError(t, comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 3_000_000_000 + int64(c.Rank())*100, Length: 2}}}}
				w, err := (*write.Writer)(nil), error(nil)
				if session == 0 {
					w, err = write.Create(ctx, c, name, s, parts, &dataset.Options{Layout: l, WideMaps: true})
				} else {
					w, err = resume.Append(ctx, c, name, nil, parts, nil)
				}
				must(err)
				must(write.Put(w, v, session, []int64{int64(c.Rank()), session}))
				return w.Close(ctx)
			}))
		}
		r := need(read.Open(ctx, name, nil))
		out := filepath.Join(t.TempDir(), "out.nc")
		noError(t, convert.Convert(ctx, r, out, &convert.ConvertOptions{Blobs: true, Layout: dataset.ProcessCentric - l}))
		r.Close()
		for _, name := range []string{name, out} {
			onlyNotes(t, l, vfs.OS, name)
			r := need(read.Open(ctx, name, nil))
			got := make([]int32, 4)
			if err := r.ReadRuns(ctx, "v", 1, []decomp.Req{{Offset: 3_000_000_100, Length: 2}, {Offset: 3_000_000_000, Length: 2}}, got); err != nil || fmt.Sprint(got) != "[1 1 0 1]" {
				t.Errorf("%v: %s: %v, %v", l, name, got, err)
			}
			r.Close()
		}
	}
}

// TestPutRefused checks that an invalid Put returns an error, and that no value of this Put gets into the file.
func TestPutRefused(t *testing.T) {
	ctx := t.Context()
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, fixed := range []int64{0, 2} {
			mem := vfs.NewMem()
			s := dataset.NewSchema()
			tm, x := s.Dim("t", dataset.Unlimited), s.Dim("x", 4)
			d := s.Decomp(x)
			a := s.Var("a", cdf5.Short, []dataset.DimID{tm, x}, dataset.Decomposed(d))
			b := s.Var("b", cdf5.Int, []dataset.DimID{x})
			parts := []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: 4}}}}
			refused := func(what string, got, want error) {
				t.Helper()
				if !errors.Is(got, want) {
					t.Errorf("%v, Records %d: %s: %v, want %v", l, fixed, what, got, want)
				}
			}
			w, err := write.CreateWith(ctx, comm.Self(), "d.nc", s, parts, &dataset.Settings{Options: dataset.Options{Layout: l, Records: fixed}, Knobs: dataset.Knobs{Fs: mem}})
			noError(t, err)
			must(errors.Join(write.Put(w, a, 0, []int16{1, 2, 3, 4}), write.Put(w, b, 0, []int32{10, 20, 30, 40}), write.Put(w, a, 1, []int16{5, 6, 7, 8})))
			for n := range 7 {
				if n != 4 {
					refused(fmt.Sprintf("%d elements of 4", n), write.Put(w, a, 1, make([]int16, n)), dataset.ErrUsage)
					refused(fmt.Sprintf("%d elements of 4, not decomposed", n), write.Put(w, b, 0, make([]int32, n)), dataset.ErrUsage)
				}
			}
			for _, q := range []struct{ start, count, n int64 }{{2, 3, 3}, {4, 1, 1}, {5, 0, 0}, {-1, 2, 2}, {0, -1, 0}, {0, 5, 5}, {1, 1<<63 - 1, 0}, {1, 2, 3}, {1, 2, 1}} {
				refused(fmt.Sprintf("%d from %d on, %d elements", q.count, q.start, q.n), write.PutAt(w, b, 0, []int64{q.start}, []int64{q.count}, make([]int32, q.n)), dataset.ErrUsage)
			}
			refused("a value out of range", write.Put(w, a, 1, []float64{0, 0, 40000, 0}), dataset.ErrRange)
			refused("a value out of range, in part", write.PutAt(w, b, 0, []int64{1}, []int64{1}, []float64{1e10}), dataset.ErrRange)
			refused("a record below 0", write.Put(w, a, -1, make([]int16, 4)), dataset.ErrUsage)
			refused("a record far beyond", write.Put(w, a, 2+write.MaxRecordGap+1, make([]int16, 4)), dataset.ErrUsage)
			refused("a record of a fixed variable", write.Put(w, b, 1, make([]int32, 4)), dataset.ErrUsage)
			if l == dataset.ProcessCentric && fixed > 0 {
				refused("a record too many", write.Put(w, a, fixed, make([]int16, 4)), dataset.ErrUsage)
			}
			must(w.Close(ctx))

			w, err = resume.AppendWith(ctx, comm.Self(), "d.nc", parts, &dataset.Settings{Options: dataset.Options{Records: fixed / 2}, Knobs: dataset.Knobs{Fs: mem}})
			noError(t, err)
			a, _ = w.Job.Schema.VarID("a")
			must(write.Put(w, a, 2, []int16{9, 10, 11, 12}))
			for rec := range int64(2) {
				refused("a committed record", write.Put(w, a, rec, make([]int16, 4)), dataset.ErrUsage)
			}
			b, _ = w.Job.Schema.VarID("b")
			refused("a fixed variable of an append", write.Put(w, b, 0, make([]int32, 4)), dataset.ErrUsage)
			if l == dataset.ProcessCentric && fixed > 0 {
				refused("a record too many of an append", write.Put(w, a, 3, make([]int16, 4)), dataset.ErrUsage)
			}
			must(w.Close(ctx))

			wantSound(t, fmt.Sprintf("%v, Records %d", l, fixed), mem, "d.nc")
			r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
			got, fix := make([]int16, 12), make([]int32, 4)
			if err := errors.Join(r.Read(ctx, "a", nil, nil, got), r.Read(ctx, "b", nil, nil, fix)); err != nil || fmt.Sprint(got, fix) != "[1 2 3 4 5 6 7 8 9 10 11 12] [10 20 30 40]" {
				t.Errorf("%v, Records %d: %v %v, %v", l, fixed, got, fix, err)
			}
			r.Close()
		}
	}
}

// TestPutAgainFreesTheOneBefore puts the same values repeatedly. Only the last copy may count against the memory limit.
func TestPutAgainFreesTheOneBefore(t *testing.T) {
	ctx := context.Background()
	const n = 1000
	for _, retain := range []dataset.Retain{dataset.LendUntilFlush, dataset.CopyOnPut} {
		name := filepath.Join(t.TempDir(), "x.h5")
		s := dataset.NewSchema()
		tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", n)
		d := s.Decomp(col)
		v := s.Var("R", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
		w := need(write.Create(ctx, comm.Self(), name, s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: n}}}}, &dataset.Options{Layout: dataset.ProcessCentric, Retain: retain, Memory: 5 * 8 * n}))
		data := make([]float64, n)
		for k := range 20 {
			for i := range data {
				data[i] = float64(k*n + i)
			}
			noError(t, write.Put(w, v, int64(k%2), data))
			if err := w.Flush(ctx); err != nil {
				t.Fatalf("retain %d, flush %d: %v", retain, k, err)
			}
		}
		if err := write.Put(w, v, 1<<40, data); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("a record far beyond the others: %v", err)
		}
		noError(t, w.Close(ctx))
		r := need(read.Open(ctx, name, nil))
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
