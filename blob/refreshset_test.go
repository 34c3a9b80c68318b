package blob

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestRefreshLooks checks that Refresh examines only the new subfiles and the first old one.
func TestRefreshLooks(t *testing.T) {
	mem := vfs.NewMem()
	o := dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric}}
	must(leg{to: 8, ranks: 4, subfiles: 4}.sail(mem, o, false, true))
	before := len(names(mem, "."))
	var looks atomic.Int64
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if _, _, ok := subfile.Split(op.Name); ok {
			looks.Add(1)
		}
		return nil
	})
	r := opened(t, fsys, "d.nc", nil)
	if n := looks.Load(); n < 32 {
		t.Errorf("%d looks at the %d files when it is opened", n, before)
	}
	for k := range int64(2) {
		must(leg{to: 9 + k, ranks: 4, subfiles: 4}.sail(mem, o, false, false))
		looks.Store(0)
		if n, err := r.Refresh(t.Context()); n != 9+k || err != nil {
			t.Fatalf("%d records, %v", n, err)
		}
		if n := looks.Load(); n > 20 { // the four new subfiles, and the header of the first one
			t.Errorf("%d looks at subfiles", n)
		}
	}
	must(mem.Remove("d.nc+3.0001"))
	if err := r.ReadRuns(t.Context(), "T", 3, []decomp.Req{{Length: 24}}, make([]float32, 24)); !errors.Is(err, dataset.ErrMissing) {
		t.Errorf("a subfile that is lost since: %v", err)
	}
}

// TestRefreshContinued checks a reader that has read data and maps, when an append by other ranks adds sets and attributes.
// Refresh must bring the new state, and values returned earlier must not change.
func TestRefreshContinued(t *testing.T) {
	ctx := t.Context()
	for name, o := range crashtest.SomeOf(t, 2, continuedCases()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewMem()
			must(leg{to: 2, ranks: 4, subfiles: 2}.sail(mem, o, false, true))
			r := opened(t, mem, "d.nc", &read.OpenOptions{Workers: 1, Verify: read.VerifyAlways})
			look := func(records int64) {
				t.Helper()
				m := dealtModel(records, 1, 0)
				if records > 2 {
					m.s.GlobalAtt("history", "continued")
				}
				got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
				if want := m.canonical(false); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d records: %v, %s", records, err, firstDiff(got, want))
				}
				for rec := range records {
					x := []float32{0}
					if err := r.ReadRuns(ctx, "T", rec, []decomp.Req{{Offset: 7, Length: 1}}, x); err != nil || float64(x[0]) != m.x(1, rec, 7) {
						t.Errorf("record %d: %v %v", rec, x, err)
					}
					if _, err := r.Now().Maps.MapOf(ctx, 2, rec); err != nil {
						t.Error(err)
					}
				}
			}
			look(2)
			view := need(r.View(nil, nil))
			schema := r.Now().Data.Schema
			o := o
			o.Fs, o.Records, o.Subfiles = mem, 0, 3
			m := dealtModel(4, 7, 1)
			must(run(7, func(ctx context.Context, c comm.Comm) error {
				w := need(resume.AppendWith(ctx, c, "d.nc", m.parts(c.Rank()), &o))
				defer w.Abort()
				must(w.SetAtt(ctx, -1, "history", "continued"))
				for rec := int64(2); rec < 4; rec++ {
					err := errors.Join(m.putRecord(w, rec, c.Rank(), false), w.Commit(ctx))
					if c.Rank() == 0 && err == nil {
						_, err = r.Refresh(ctx)
						look(rec + 1)
					}
					must(comm.Agree(ctx, c, err))
				}
				return w.Close(ctx)
			}))
			must(leg{to: 5, ranks: 3, subfiles: 1}.sail(mem, dataset.Settings{}, false, false))
			if n, err := r.Refresh(ctx); n != 5 || err != nil {
				t.Fatalf("%d records, %v", n, err)
			}
			look(5)
			if len(schema.Attributes()) != 1 || view.Records != 2 {
				t.Errorf("a schema has %d attributes, a view %d records", len(schema.Attributes()), view.Records)
			}
			x := make([]float32, 48)
			if err := view.Read(ctx, "T", nil, nil, x); err != nil || float64(x[47]) != m.x(1, 1, 23) {
				t.Errorf("a view of before: %v, %v", x[47], err)
			}
		})
	}
}
