package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

// extend adds dimensions and variables to a schema of dealtModel, for an append.
func extend(s *dataset.Schema) {
	k := s.Dim("bnds", 2)
	s.Var("time_bnds", cdf5.Double, []dataset.DimID{0, k})
	s.Var("Q", cdf5.Float, []dataset.DimID{0, 1, 2}, dataset.Decomposed(2), dataset.Att("_FillValue", float32(-7)), dataset.Att("units", "kg"))
	s.Var("count", cdf5.Int, []dataset.DimID{0, 2}, dataset.Decomposed(1))
}

// TestAppendSchema checks variables and dimensions that appends have added. All readers and read methods must see them. In
// earlier records the variables read as fill values. The dataset must equal a dataset that had the variables from the beginning
// and did not put them in those records.
func TestAppendSchema(t *testing.T) {
	ctx := t.Context()
	for name, o := range crashtest.SomeOf(t, 1, continuedCases()) {
		for _, isolate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-apart=%v", name, isolate), func(t *testing.T) {
				t.Parallel()
				mem := vfs.NewMem()
				must(leg{to: 2, ranks: 4, subfiles: 2}.sail(mem, o, isolate, true))
				o := o
				o.Fs, o.Records = mem, 0
				follower := opened(t, mem, "d.nc", &read.OpenOptions{Workers: 1})
				// The ranks and maps are as before: only the new variables prevent the files from growing in place.
				session := func(from int, commits bool, define func(s *dataset.Schema)) {
					t.Helper()
					m := dealtModel(int64(from)+2, 4, 0)
					o := o
					o.Subfiles = 2
					noError(t, run(4, func(ctx context.Context, c comm.Comm) error {
						c = isolateIf(c, isolate)
						r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
						var s *dataset.Schema
						if define != nil {
							s = r.Now().Data.Extend()
							define(s)
						}
						must(errors.Join(r.Close(), c.Barrier(ctx)))
						w := need(resume.AppendSettings(ctx, c, "d.nc", s, m.parts(c.Rank()), &o))
						defer w.Abort()
						for rec := int64(from); rec < m.records; rec++ {
							must(errors.Join(m.putRecord(w, rec, c.Rank(), false), putMore(w, m, rec, c.Rank())))
							if commits {
								must(w.Commit(ctx))
							}
						}
						return w.Close(ctx)
					}))
				}
				session(2, true, extend)
				lookExtended(t, mem, "added", 4, 2)
				if n, err := follower.Refresh(ctx); err != nil || n != 4 || len(follower.Now().Data.Schema.Vars) != 7 {
					t.Errorf("refresh: %d records, %v", n, err)
				}
				session(4, false, nil)
				lookExtended(t, mem, "appended", 6, 2)
				r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
				if n := len(r.Now().Files.Manifest.Sets); o.Layout == dataset.VariableCentric && n != 2 {
					t.Errorf("%d sets, want 2: the files that have the new variables grow", n)
				}
				must(r.Close())
				session(6, true, func(s *dataset.Schema) { s.Var("late", cdf5.Short, []dataset.DimID{0}) })
				lookExtended(t, mem, "added again", 8, 2)
				if _, err := follower.Refresh(ctx); err != nil || len(follower.Now().Data.Schema.Vars) != 8 {
					t.Error(err)
				}
				_ = crossSets(t, mem)
			})
		}
	}
}

// putMore puts the variables that extend has added.
func putMore(w *write.Writer, m *model, rec int64, rank int) error {
	s := w.Job.Schema
	for v := range s.Vars {
		sv := &s.Vars[v]
		var err error
		switch sv.Name {
		case "time_bnds":
			err = write.Put(w, dataset.VarID(v), rec, []float64{float64(rec), float64(rec) + 1})
		case "Q", "count":
			x := make([]float32, 0, 24)
			for q := range m.maps[sv.Decomp-1].Reqs(rank) {
				x = append(x, float32(100*rec+q.Offset))
			}
			err = write.Put(w, dataset.VarID(v), rec, x)
		case "late":
			err = write.Put(w, dataset.VarID(v), rec, []int16{int16(rec)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookExtended checks a dataset that has the variables of extend from record since on.
func lookExtended(t *testing.T, mem vfs.FS, when string, records, since int64) {
	t.Helper()
	ctx := t.Context()
	for _, verify := range []read.Verification{read.VerifyWhole, read.VerifyAlways} {
		r := opened(t, mem, "d.nc", &read.OpenOptions{Workers: 1, Verify: verify})
		if r.Now().Data.Records != records {
			t.Fatalf("%s: %d records, want %d", when, r.Now().Data.Records, records)
		}
		for rec := range records {
			want, flat := make([]float32, 24), []float64{cdf5FillDouble, cdf5FillDouble}
			for at := range want {
				if want[at] = -7; rec >= since {
					want[at] = float32(100*rec + int64(at))
				}
			}
			if rec >= since {
				flat = []float64{float64(rec), float64(rec) + 1}
			}
			got, b := make([]float32, 24), make([]float64, 2)
			must(r.Read(ctx, "Q", []int64{rec, 0, 0}, []int64{1, 3, 8}, got))
			must(r.Read(ctx, "time_bnds", []int64{rec, 0}, []int64{1, 2}, b))
			if !slices.Equal(got, want) || !slices.Equal(b, flat) {
				t.Fatalf("%s: record %d: %v %v", when, rec, got, b)
			}
			some := make([]float32, 2)
			must(r.ReadRuns(ctx, "Q", rec, []decomp.Req{{Offset: 3, Length: 1}, {Offset: 20, Length: 1}}, some))
			if some[0] != want[3] || some[1] != want[20] {
				t.Errorf("%s: runs of record %d: %v", when, rec, some)
			}
			n := 0
			for b, err := range r.Now().Elems.Blobs(ctx, "Q", rec) {
				must(err)
				one, err := r.Now().Elems.RankBlob(ctx, "Q", rec, b.Rank)
				if err != nil || fmt.Sprint(one) != fmt.Sprint(b) {
					t.Fatalf("blob %d: %v", b.Rank, err)
				}
				for _, q := range b.Runs {
					if x := b.Data.([]float32)[0]; q.Length == 1 && n == 0 && x != want[q.Offset] {
						t.Errorf("%s: blob %d of record %d begins with %v", when, b.Rank, rec, x)
					}
					n += int(q.Length)
				}
			}
			at, err := r.Now().Elems.Where(ctx, "Q", []int64{rec, 1, 1})
			if err != nil || n != 24 || (at == nil) != (rec < since) {
				t.Errorf("%s: record %d: %d elements in blobs, at %v, %v", when, rec, n, at, err)
			}
			must(run(2, func(ctx context.Context, c comm.Comm) error { // each rank reads half of the 24 elements
				k := r.Collective(commtest.Isolate(c))
				p := k.Plan([]decomp.Req{{Offset: 12 * int64(c.Rank()), Length: 12}})
				x, kept := make([]float32, 12), slices.Repeat([]float32{5}, 12)
				t0 := make([]float32, 12)
				must(p.Read(ctx, read.Get{Name: "Q", Record: rec, Into: x}, read.Get{Name: "T", Record: rec, Into: t0}, read.Get{Name: "Q", Record: rec, Into: kept, Keep: true}))
				mine := want[12*c.Rank() : 12*c.Rank()+12]
				if rec < since && kept[11] != 5 || rec >= since && kept[11] != mine[11] || !slices.Equal(x, mine) || t0[11] != float32(dealtModel(1, 1, 0).x(1, rec, 12*int64(c.Rank())+11)) {
					return fmt.Errorf("record %d: read together %v, kept %v, T %v", rec, x, kept, t0)
				}
				return nil
			}))
		}
	}
	wantSound(t, when, mem, "d.nc")
}

const cdf5FillDouble = 9.9692099683868690e+36

// crossSets converts a dataset to blobs of both layouts and back. All results must have the same bytes.
func crossSets(t *testing.T, mem vfs.FS) []byte {
	t.Helper()
	ctx := t.Context()
	r := opened(t, mem, "d.nc", nil)
	want := need(convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1}))
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		out := "out." + l.String()
		noError(t, convert.ConvertWith(ctx, comm.Self(), r, out, &convert.ConvertOptions{Blobs: true, Layout: l}, dataset.Knobs{Fs: mem}))
		got, err := canonicalOf(mem, out)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("through %v: %v, %s", l, err, firstDiff(got, want))
		}
	}
	return want
}

// TestAppendSchemaRefused checks invalid additions to a schema. Schema.Err must report them at their definition, and Append
// must fail on all ranks without an operation on a file.
func TestAppendSchemaRefused(t *testing.T) {
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := vfs.NewMem()
		must(leg{to: 2, ranks: 4, subfiles: 2}.sail(mem, dataset.Settings{Options: dataset.Options{Layout: l}}, false, false))
		before := fmt.Sprint(names(mem, "."))
		r := opened(t, mem, "d.nc", nil)
		m := dealtModel(2, 3, 0)
		for what, define := range map[string]func(s *dataset.Schema){
			"a fixed variable":       func(s *dataset.Schema) { s.Var("f", cdf5.Int, []dataset.DimID{1}) },
			"a scalar":               func(s *dataset.Schema) { s.Var("f", cdf5.Int, nil) },
			"a variable of the name": func(s *dataset.Schema) { s.Var("T", cdf5.Int, []dataset.DimID{0}) },
			"one of a fixed one":     func(s *dataset.Schema) { s.Var("area", cdf5.Int, []dataset.DimID{0}) },
			"what the layout writes": func(s *dataset.Schema) {
				s.Var("f", cdf5.Int, []dataset.DimID{0}, dataset.Att("decomposition_ID", int32(1)))
			},
			"the same, set": func(s *dataset.Schema) {
				s.SetAtt(s.Var("f", cdf5.Int, []dataset.DimID{0}), cdf5.Att{Name: "global_dimids", Type: cdf5.Char, Value: "b"})
			},
			"a dimension twice":     func(s *dataset.Schema) { s.Dim("ncol", 9); s.Var("f", cdf5.Int, []dataset.DimID{0}) },
			"another record length": func(s *dataset.Schema) { s.Dim("when", dataset.Unlimited) },
			"a decomposition":       func(s *dataset.Schema) { s.Decomp(1) },
			"a global attribute":    func(s *dataset.Schema) { s.GlobalAtt("a", "b") },
			"a global one, set":     func(s *dataset.Schema) { s.SetAtt(-1, cdf5.Att{Name: "a", Type: cdf5.Char, Value: "b"}) },
			"an attribute":          func(s *dataset.Schema) { s.SetAtt(0, cdf5.Att{Name: "a", Type: cdf5.Char, Value: "b"}) },
			"only a dimension":      func(s *dataset.Schema) { s.Dim("k", 9) },
			"only a dimension too many": func(s *dataset.Schema) {
				extend(s)
				s.Dim("k", 9)
			},
		} {
			s := r.Now().Data.Extend()
			define(s)
			whole := strings.HasPrefix(what, "only") // Append finds these, because a variable could still follow
			if !whole && !errors.Is(s.Err, dataset.ErrUsage) {
				t.Errorf("%v, %s: %v where it is defined", l, what, s.Err)
			}
			count := vfs.Count(mem)
			o := &dataset.Settings{Knobs: dataset.Knobs{Fs: count}}
			errs, _ := eachRank(3, func(ctx context.Context, c comm.Comm) error {
				mine := s
				if c.Rank() == 1 && !whole { // rank 1 has no invalid definition
					mine = r.Now().Data.Extend()
				}
				_, err := resume.AppendSettings(ctx, c, "d.nc", mine, m.parts(c.Rank()), o)
				return err
			})
			for rank, err := range errs {
				if !errors.Is(err, dataset.ErrUsage) || whole && !strings.Contains(err.Error(), `dimension "k"`) {
					t.Errorf("%v, %s: rank %d: %v", l, what, rank, err)
				}
			}
			if n := count.Ops(); n > 0 {
				t.Errorf("%v, %s: told after %d operations", l, what, n)
			}
		}
		for what, of := range map[string]func(rank int) *dataset.Schema{
			"another schema": func(int) *dataset.Schema { return m.s },
			"one of another rank": func(rank int) *dataset.Schema {
				s := r.Now().Data.Extend()
				s.Var(fmt.Sprint("f", rank), cdf5.Int, []dataset.DimID{0})
				return s
			},
			"on one rank only": func(rank int) *dataset.Schema {
				if rank > 0 {
					return nil
				}
				s := r.Now().Data.Extend()
				extend(s)
				return s
			},
		} {
			errs, _ := eachRank(3, func(ctx context.Context, c comm.Comm) error {
				_, err := resume.AppendSettings(ctx, c, "d.nc", of(c.Rank()), m.parts(c.Rank()), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
				return err
			})
			for rank, err := range errs {
				if !errors.Is(err, dataset.ErrUsage) {
					t.Errorf("%v, %s: rank %d: %v", l, what, rank, err)
				}
			}
		}
		if after := fmt.Sprint(names(mem, ".")); after != before {
			t.Errorf("%v: %s, there were %s", l, after, before)
		}
	}
}

// TestAddedDamaged checks that a manifest with added variables that contradict the headers is an error.
func TestAddedDamaged(t *testing.T) {
	mem := vfs.NewMem()
	must(leg{to: 1, ranks: 2, subfiles: 1}.sail(mem, dataset.Settings{}, false, false))
	must(leg{to: 2, ranks: 3, subfiles: 1}.sail(mem, dataset.Settings{}, false, false))
	st := need(subfile.ReadState(mem, "d.nc"))
	for _, added := range [][]string{{"nobody"}, {"T"}, {"area"}} {
		st.Manifest.Sets[1].Added = added
		b := need(st.Manifest.Encode())
		must(rewrite(mem, subfile.ManifestName("d.nc"), b))
		_, err := read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: mem})
		if f := (*fault.FormatError)(nil); !errors.As(err, &f) || !errors.Is(err, dataset.ErrCorrupt) || f.File != "d.nc+1.0000" {
			t.Errorf("added %v: %v", added, err)
		}
		if bad := checkErrors(mem, "d.nc"); len(bad) == 0 {
			t.Errorf("added %v: check finds nothing", added)
		}
	}
}

// withExtended makes a dataset of two records and appends a third one with the variables of extend.
func withExtended(l dataset.Layout) *vfs.Mem {
	mem := vfs.NewMem()
	must(leg{to: 2, ranks: 4, subfiles: 2}.sail(mem, dataset.Settings{Options: dataset.Options{Layout: l}}, false, false))
	must(extending(mem, 3, func(ctx context.Context, w *write.Writer, m *model, rank int) error {
		return errors.Join(m.putRecord(w, 2, rank, false), putMore(w, m, 2, rank))
	}))
	return mem
}

// extending appends to d.nc on three ranks, with the additions of extend.
func extending(mem vfs.FS, records int64, put func(ctx context.Context, w *write.Writer, m *model, rank int) error) error {
	r := need(read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem}))
	defer r.Close()
	s := r.Now().Data.Extend()
	extend(s)
	m := dealtModel(records, 3, 0)
	return run(3, func(ctx context.Context, c comm.Comm) error {
		w := need(resume.AppendSettings(ctx, c, "d.nc", s, m.parts(c.Rank()), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}))
		must(put(ctx, w, m, c.Rank()))
		return w.Close(ctx)
	})
}

// TestAddedLost removes the files of the set with the added variables. With AllowMissing or MissingLater the other data must be
// readable.
func TestAddedLost(t *testing.T) {
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := withExtended(l)
		lookExtended(t, mem, l.String(), 3, 2)
		for i, name := range []string{"d.nc+1.0000", "d.nc+1.0001"} {
			if err := mem.Remove(name); i == 0 && err != nil {
				t.Fatal(err)
			}
		}
		if _, err := read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: mem}); !errors.Is(err, dataset.ErrMissing) {
			t.Errorf("%v: %v", l, err)
		}
		for _, o := range []read.OpenOptions{{AllowMissing: true}, {MissingLater: true}} {
			r, err := read.OpenWith(t.Context(), "d.nc", &o, dataset.Knobs{Fs: mem})
			if err != nil {
				t.Fatalf("%v, %+v: %v", l, o, err)
			}
			defer r.Close()
			x := make([]float32, 24)
			err = r.ReadRuns(t.Context(), "T", 1, []decomp.Req{{Length: 24}}, x)
			if _, ok := r.Now().Data.Schema.VarID("Q"); ok || err != nil || float64(x[7]) != dealtModel(2, 1, 0).x(1, 1, 7) {
				t.Errorf("%v, %+v: Q is there: %v, %v, %v", l, o, ok, x[7], err)
			}
			if err := r.ReadRuns(t.Context(), "T", 2, []decomp.Req{{Length: 24}}, x); o.AllowMissing != (err == nil) {
				t.Errorf("%v, %+v: the record that is lost: %v", l, o, err)
			}
		}
	}
}

// TestExtendedApart checks that Append fails on all ranks if their schemas come from different states of the dataset.
func TestExtendedApart(t *testing.T) {
	mem := vfs.NewMem()
	must(leg{to: 2, ranks: 4, subfiles: 2}.sail(mem, dataset.Settings{}, false, false))
	old := opened(t, mem, "d.nc", nil)
	must(extending(mem, 3, func(ctx context.Context, w *write.Writer, m *model, rank int) error {
		return errors.Join(m.putRecord(w, 2, rank, false), putMore(w, m, 2, rank))
	}))
	now := opened(t, mem, "d.nc", nil)
	m := dealtModel(4, 3, 0)
	errs, _ := eachRank(3, func(ctx context.Context, c comm.Comm) error {
		s := now.Now().Data.Extend()
		if c.Rank() == 0 {
			s = old.Now().Data.Extend()
			extend(s)
		}
		_, err := resume.AppendSettings(ctx, c, "d.nc", s, m.parts(c.Rank()), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
		return err
	})
	for rank, err := range errs {
		if !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestLayoutAtts checks that the schema rejects attributes that only the layout may write. With such attributes the dataset
// would be unreadable.
func TestLayoutAtts(t *testing.T) {
	for _, name := range []string{dataset.AttDecompID, dataset.AttDimIDs} {
		a, b := dataset.NewSchema(), dataset.NewSchema()
		a.Var("v", cdf5.Int, []dataset.DimID{a.Dim("x", 3)}, dataset.Att(name, int32(1)))
		b.SetAtt(b.Var("v", cdf5.Int, []dataset.DimID{b.Dim("x", 3)}), cdf5.Att{Name: name, Type: cdf5.Char, Value: "1"})
		if !errors.Is(a.Err, dataset.ErrUsage) || !errors.Is(b.Err, dataset.ErrUsage) {
			t.Errorf("%s: %v, %v", name, a.Err, b.Err)
		}
	}
}
