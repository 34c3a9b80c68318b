package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// The tests in this file use small files that claim to be large. Such a claim may be true: a map can cover one element of an
// array of 2^40. Reads of such files must not allocate memory in proportion to the claim.

// heapOf runs f and fails the test if f allocates more than allocCap.
func heapOf(t *testing.T, what string, f func()) {
	t.Helper()
	defer unlessHung(what)()
	before := allocated()
	f()
	if n := allocated() - before; n > allocCap {
		t.Errorf("%s: %d MiB allocated", what, n>>20)
	}
}

func TestHugeDimension(t *testing.T) {
	const huge = 1 << 40
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		m := vfs.NewMem()
		ctx := context.Background()
		s := dataset.NewSchema()
		tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", huge)
		d := s.Decomp(col)
		x := s.Var("x", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
		at := []int64{0, 5, 1<<31 - 2}
		err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			reqs := []decomp.Req{}
			vals := []float64{}
			if c.Rank() == 1 {
				for i, a := range at {
					reqs, vals = append(reqs, decomp.Req{Offset: a, Length: 1}), append(vals, float64(i+1))
				}
			}
			w := need(write.CreateWith(ctx, c, sampleBase, s, []write.Part{{Decomp: d, Runs: reqs}}, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 1}, Knobs: dataset.Knobs{Fs: m}}))
			must(write.Put(w, x, 0, vals))
			return w.Close(ctx)
		})
		if err != nil {
			t.Fatalf("%v: %v", layout, err)
		}
		heapOf(t, layout.String(), func() {
			onlyNotes(t, layout, m, sampleBase)
			r := need(read.OpenWith(ctx, sampleBase, nil, dataset.Knobs{Fs: m}))
			defer r.Close()
			fill := float64(cdf5.FillValue(cdf5.Double).(float64))
			got := make([]float64, 2)
			for start, want := range map[int64][]float64{0: {1, fill}, 4: {fill, 2}, 1<<31 - 2: {3, fill}, huge - 2: {fill, fill}} {
				if err := r.Read(ctx, "x", []int64{0, start}, []int64{1, 2}, got); err != nil || !slices.Equal(got, want) {
					t.Errorf("%v: x[0,%d:] = %v %v, want %v", layout, start, got, err, want)
				}
			}
			runs := []decomp.Req{{Offset: 0, Length: 1}, {Offset: huge - 1, Length: 1}, {Offset: 1<<31 - 2, Length: 1}, {Offset: 5, Length: 1}}
			four := make([]float64, 4)
			if err := r.ReadRuns(ctx, "x", 0, runs, four); err != nil || !slices.Equal(four, []float64{1, fill, 3, 2}) {
				t.Errorf("%v: runs: %v %v", layout, four, err)
			}
			n := 0
			for b, err := range r.Now().Elems.Blobs(ctx, "x", 0) {
				if err != nil {
					t.Error(err)
				} else {
					n += len(b.Data.([]float64))
				}
			}
			if n != 3 {
				t.Errorf("%v: the blobs hold %d elements, want 3", layout, n)
			}
		})
	}
}

// craft writes a subfile from a schema and a shape, without data. The file ends extra bytes after the header, whatever size the
// header claims.
func craft(t *testing.T, layout dataset.Layout, s *dataset.Schema, sh *layout.Shape, records int64, extra int) ([]byte, error) {
	t.Helper()
	h := s.BlobHeader(sh)
	h.NumRecs = records
	if layout == dataset.VariableCentric {
		if err := h.Layout(nil); err != nil {
			return nil, err
		}

		b, err := h.AppendTo(nil, dataset.OrderOf(true), false)
		return append(b, make([]byte, extra)...), err
	}
	for v := range h.Vars {
		h.Vars[v].VSize = min(h.Bytes(v), math.MaxInt64-3) &^ 3
	}
	hb, err := h.AppendTo(nil, dataset.OrderOf(false), true)
	if err != nil {
		return nil, err
	}
	p := dataset.NewPlace(layout, false, 0)
	p.SetHeader(h, int64(len(hb)), s, sh)
	l := need(p.Container(int64(extra)))
	b := make([]byte, p.DataOff+int64(extra))
	for _, q := range l.Pieces {
		copy(b[q.Off:], q.Data)
	}
	copy(b[p.Header.Off:], hb)
	return b, nil
}

func TestHugeClaims(t *testing.T) {
	base := func() *dataset.Schema {
		s := dataset.NewSchema()
		tm, lev, col := s.Dim("time", dataset.Unlimited), s.Dim("lev", 4), s.Dim("ncol", 1000)
		d := s.Decomp(lev, col)
		s.Var("x", cdf5.Double, []dataset.DimID{tm, lev, col}, dataset.Decomposed(d))
		s.Var("y", cdf5.Float, []dataset.DimID{lev, col}, dataset.Decomposed(d))
		s.Var("z", cdf5.Int, []dataset.DimID{tm, lev})
		return s
	}
	shape := func() *layout.Shape {
		return &layout.Shape{Ranks: 2, Subfiles: 1, Blobs: 2, Elems: []int64{3}, MaxReqs: []int64{2}}
	}
	for name, change := range map[string]func(*dataset.Schema, *layout.Shape, *int64){
		"nothing":            func(*dataset.Schema, *layout.Shape, *int64) {},
		"records":            func(_ *dataset.Schema, _ *layout.Shape, n *int64) { *n = 1 << 40 },
		"records of nothing": func(s *dataset.Schema, _ *layout.Shape, n *int64) { s.Vars = s.Vars[1:2]; *n = math.MaxInt64 },
		"most records": func(s *dataset.Schema, sh *layout.Shape, n *int64) {
			s.Vars = s.Vars[:1]
			sh.Elems[0] = 0
			*n = 1 << 59
		},
		"streaming": func(_ *dataset.Schema, _ *layout.Shape, n *int64) { *n = -1 },
		"blobs":     func(_ *dataset.Schema, sh *layout.Shape, _ *int64) { sh.Blobs, sh.Ranks = math.MaxInt32, math.MaxInt32 },
		"blobs without maps": func(s *dataset.Schema, sh *layout.Shape, _ *int64) {
			s.Decomps, s.Vars = nil, s.Vars[2:]
			sh.Blobs, sh.Ranks = math.MaxInt32, math.MaxInt32
		},
		"a million blobs":     func(_ *dataset.Schema, sh *layout.Shape, _ *int64) { sh.Blobs, sh.Ranks = 1<<20, 1<<20 },
		"subfiles":            func(_ *dataset.Schema, sh *layout.Shape, _ *int64) { sh.Subfiles, sh.Ranks = 1<<20, math.MaxInt32 },
		"max_nreqs":           func(_ *dataset.Schema, sh *layout.Shape, _ *int64) { sh.MaxReqs[0] = 1 << 56 },
		"nelems":              func(_ *dataset.Schema, sh *layout.Shape, _ *int64) { sh.Elems[0] = 1 << 58 },
		"canonical dimension": func(s *dataset.Schema, _ *layout.Shape, _ *int64) { s.Dims[2].Len = 1 << 55 },
		"canonical dimensions": func(s *dataset.Schema, _ *layout.Shape, _ *int64) {
			s.Dims[1].Len, s.Dims[2].Len = 1<<40, 1<<40
			s.Vars = s.Vars[:1]
		},
		"canonical to zero": func(s *dataset.Schema, _ *layout.Shape, _ *int64) {
			s.Dims[1].Len, s.Dims[2].Len = 1<<32, 1<<32
			s.Vars = s.Vars[:1]
		},
		"fixed variables": func(s *dataset.Schema, _ *layout.Shape, _ *int64) {
			s.Dims[1].Len = 1 << 58
			s.Dims[2].Len = 1
			for i := range 40 {
				s.Var(fmt.Sprintf("w%d", i), cdf5.Double, []dataset.DimID{1})
			}
		},
		"record size": func(s *dataset.Schema, _ *layout.Shape, _ *int64) {
			s.Dims[1].Len = 1 << 52
			s.Dims[2].Len = 1
			for i := range 40 {
				s.Var(fmt.Sprintf("w%d", i), cdf5.Double, []dataset.DimID{0, 1})
			}
		},
	} {
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			s, sh, records := base(), shape(), int64(1)
			change(s, sh, &records)
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			for _, extra := range []int{40, 400, 1 << 16} {
				b, err := craft(t, layout, s, sh, records, extra)
				if err != nil {
					t.Logf("%v: %s: the codec refuses: %v", layout, name, err)
					continue
				}
				what := fmt.Sprintf("%v: %s, %d bytes behind", layout, name, extra)
				lookAround(t, what, b)
			}
		}
	}
}

// lookAround opens, reads and checks one subfile of unknown content.
func lookAround(t *testing.T, what string, file []byte) {
	t.Helper()
	heapOf(t, what, func() {
		m := memOf(t, map[string][]byte{subfile.Name(sampleBase, 0): file})
		ctx := context.Background()
		faults := 0
		for f := range check.CheckWith(ctx, sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: m}) {
			if f.Severity >= dataset.Error {
				faults++
			}
		}
		r, err := read.OpenWith(ctx, sampleBase, &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: m})
		if err != nil {
			if !hasClass(err) || faults == 0 {
				t.Errorf("%s: %v (%T), %d findings", what, err, err, faults)
			}
			return
		}
		defer r.Close()
		for v := range r.Data.Schema.Vars {
			if err := readSome(ctx, r, dataset.VarID(v)); err != nil && (!hasClass(err) || faults == 0 && !errors.Is(err, dataset.ErrRange)) {
				t.Errorf("%s: %v (%T), %d findings", what, err, err, faults)
			}
		}
		for d := range r.Data.Schema.Decomps {
			if _, err := r.Now().Maps.Coverage(ctx, dataset.DecompID(d+1)); err != nil && !hasClass(err) {
				t.Errorf("%s: coverage of D%d: %v", what, d+1, err)
			}
		}
	})
}
