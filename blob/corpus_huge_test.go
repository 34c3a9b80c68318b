package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// Small files that claim to be large. What they claim may be true: a map can
// cover one element of 2^40. It must not cost memory by the length claimed.

// heapOf runs f and fails if it allocates over the cap.
func heapOf(t *testing.T, what string, f func()) {
	t.Helper()
	defer watch(what)()
	before := allocated()
	f()
	if n := allocated() - before; n > allocCap {
		t.Errorf("%s: %d MiB allocated", what, n>>20)
	}
}

func TestHugeDimension(t *testing.T) {
	const huge = 1 << 40
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		m := vfs.NewMem()
		ctx := context.Background()
		s := NewSchema()
		tm, col := s.Dim("time", Unlimited), s.Dim("ncol", huge)
		d := s.Decomp(col)
		x := s.Var("x", cdf5.Double, []DimID{tm, col}, Decomposed(d))
		at := []int64{0, 5, 1<<31 - 2}
		err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			reqs := []decomp.Req{}
			vals := []float64{}
			if c.Rank() == 1 {
				for i, a := range at {
					reqs, vals = append(reqs, decomp.Req{Offset: a, Length: 1}), append(vals, float64(i+1))
				}
			}
			w := need(createWith(ctx, c, sampleBase, s, []Part{{d, reqs}}, &settings{Options: Options{Layout: layout, Subfiles: 1}, knobs: knobs{fs: m}}))
			must(Put(w, x, 0, vals))
			return w.Close(ctx)
		})
		if err != nil {
			t.Fatalf("%v: %v", layout, err)
		}
		heapOf(t, layout.String(), func() {
			onlyNotes(t, layout, m, sampleBase)
			r := need(openWith(ctx, sampleBase, nil, knobs{fs: m}))
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
			for b, err := range r.Blobs(ctx, "x", 0) {
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

// craft writes a variable-centric or process-centric subfile from a schema and
// a shape, without data: whatever the header says, the file ends after extra bytes.
func craft(t *testing.T, layout Layout, s *Schema, sh *layout.Shape, records int64, extra int) ([]byte, error) {
	t.Helper()
	h := s.blobHeader(sh)
	h.NumRecs = records
	if layout == VariableCentric {
		if err := h.Layout(nil); err != nil {
			return nil, err
		}

		b, err := h.AppendTo(nil, orderOf(true), false)
		return append(b, make([]byte, extra)...), err
	}
	for v := range h.Vars {
		h.Vars[v].VSize = min(h.Bytes(v), math.MaxInt64-3) &^ 3
	}
	hb, err := h.AppendTo(nil, orderOf(false), true)
	if err != nil {
		return nil, err
	}
	p := newPlace(layout, false, 0)
	p.setHeader(h, int64(len(hb)), s, sh)
	l := need(p.Container(int64(extra)))
	b := make([]byte, p.DataOff+int64(extra))
	for _, q := range l.Pieces {
		copy(b[q.Off:], q.Data)
	}
	copy(b[p.HeaderOff:], hb)
	return b, nil
}

func TestHugeClaims(t *testing.T) {
	base := func() *Schema {
		s := NewSchema()
		tm, lev, col := s.Dim("time", Unlimited), s.Dim("lev", 4), s.Dim("ncol", 1000)
		d := s.Decomp(lev, col)
		s.Var("x", cdf5.Double, []DimID{tm, lev, col}, Decomposed(d))
		s.Var("y", cdf5.Float, []DimID{lev, col}, Decomposed(d))
		s.Var("z", cdf5.Int, []DimID{tm, lev})
		return s
	}
	shape := func() *layout.Shape {
		return &layout.Shape{Ranks: 2, Subfiles: 1, Blobs: 2, Elems: []int64{3}, MaxReqs: []int64{2}}
	}
	for name, change := range map[string]func(*Schema, *layout.Shape, *int64){
		"nothing":            func(*Schema, *layout.Shape, *int64) {},
		"records":            func(_ *Schema, _ *layout.Shape, n *int64) { *n = 1 << 40 },
		"records of nothing": func(s *Schema, _ *layout.Shape, n *int64) { s.vars = s.vars[1:2]; *n = math.MaxInt64 },
		"most records":       func(s *Schema, sh *layout.Shape, n *int64) { s.vars = s.vars[:1]; sh.Elems[0] = 0; *n = 1 << 59 },
		"streaming":          func(_ *Schema, _ *layout.Shape, n *int64) { *n = -1 },
		"blobs":              func(_ *Schema, sh *layout.Shape, _ *int64) { sh.Blobs, sh.Ranks = math.MaxInt32, math.MaxInt32 },
		"blobs without maps": func(s *Schema, sh *layout.Shape, _ *int64) {
			s.decomps, s.vars = nil, s.vars[2:]
			sh.Blobs, sh.Ranks = math.MaxInt32, math.MaxInt32
		},
		"a million blobs":     func(_ *Schema, sh *layout.Shape, _ *int64) { sh.Blobs, sh.Ranks = 1<<20, 1<<20 },
		"subfiles":            func(_ *Schema, sh *layout.Shape, _ *int64) { sh.Subfiles, sh.Ranks = 1<<20, math.MaxInt32 },
		"max_nreqs":           func(_ *Schema, sh *layout.Shape, _ *int64) { sh.MaxReqs[0] = 1 << 56 },
		"nelems":              func(_ *Schema, sh *layout.Shape, _ *int64) { sh.Elems[0] = 1 << 58 },
		"canonical dimension": func(s *Schema, _ *layout.Shape, _ *int64) { s.dims[2].Len = 1 << 55 },
		"canonical dimensions": func(s *Schema, _ *layout.Shape, _ *int64) {
			s.dims[1].Len, s.dims[2].Len = 1<<40, 1<<40
			s.vars = s.vars[:1]
		},
		"canonical to zero": func(s *Schema, _ *layout.Shape, _ *int64) {
			s.dims[1].Len, s.dims[2].Len = 1<<32, 1<<32
			s.vars = s.vars[:1]
		},
		"fixed variables": func(s *Schema, _ *layout.Shape, _ *int64) {
			s.dims[1].Len = 1 << 58
			s.dims[2].Len = 1
			for i := range 40 {
				s.Var(fmt.Sprintf("w%d", i), cdf5.Double, []DimID{1})
			}
		},
		"record size": func(s *Schema, _ *layout.Shape, _ *int64) {
			s.dims[1].Len = 1 << 52
			s.dims[2].Len = 1
			for i := range 40 {
				s.Var(fmt.Sprintf("w%d", i), cdf5.Double, []DimID{0, 1})
			}
		},
	} {
		for _, layout := range []Layout{VariableCentric, ProcessCentric} {
			s, sh, records := base(), shape(), int64(1)
			change(s, sh, &records)
			if s.err != nil {
				t.Fatal(s.err)
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

// lookAround opens, reads and checks one subfile without knowing what is in it.
func lookAround(t *testing.T, what string, file []byte) {
	t.Helper()
	heapOf(t, what, func() {
		m := memOf(t, map[string][]byte{subfile.Name(sampleBase, 0): file})
		ctx := context.Background()
		faults := 0
		for f := range checkWith(ctx, sampleBase, &CheckOptions{Workers: 1}, knobs{fs: m}) {
			if f.Severity >= Error {
				faults++
			}
		}
		r, err := openWith(ctx, sampleBase, &OpenOptions{Workers: 1}, knobs{fs: m})
		if err != nil {
			if !hasClass(err) || faults == 0 {
				t.Errorf("%s: %v (%T), %d findings", what, err, err, faults)
			}
			return
		}
		defer r.Close()
		for v := range r.schema.vars {
			if err := readSome(ctx, r, VarID(v)); err != nil && (!hasClass(err) || faults == 0 && !errors.Is(err, ErrRange)) {
				t.Errorf("%s: %v (%T), %d findings", what, err, err, faults)
			}
		}
		for d := range r.schema.decomps {
			if _, err := r.Coverage(ctx, DecompID(d+1)); err != nil && !hasClass(err) {
				t.Errorf("%s: coverage of D%d: %v", what, d+1, err)
			}
		}
	})
}
