package blob

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestForgottenInAppend checks that an append holds records back if a rank has not put a variable that an earlier session has
// put. New variables, and variables that no session has put, hold no records back.
func TestForgottenInAppend(t *testing.T) {
	const ranks = 4
	for _, o := range []dataset.Options{{}, {Layout: dataset.ProcessCentric}, {Layout: dataset.ProcessCentric, Records: 4}, {Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}}} {
		for _, subfiles := range crashtest.Some(t, 2, []int{1, 2, 3, ranks}) {
			for _, end := range []string{"closed", "dead", "recovered", "other ranks", "more variables"} {
				o := dataset.Settings{Options: o, Knobs: dataset.Knobs{Fs: vfs.NewMem()}}
				o.Subfiles = subfiles
				if err := forget(t.Context(), &o, ranks, end); err != nil {
					t.Errorf("%v, %d records, %v, %d subfiles, %s: %v", o.Layout, o.Records, o.Compress.Method, subfiles, end, err)
				}
			}
		}
	}
}

func forget(ctx context.Context, o *dataset.Settings, ranks int, end string) error {
	s := dataset.NewSchema()
	td, x := s.Dim("time", dataset.Unlimited), s.Dim("x", int64(ranks)+1)
	d := s.Decomp(x)
	names := []string{"time", "T", "never", "Q", "no_name"}
	s.Var("time", cdf5.Double, []dataset.DimID{td})
	s.Var("T", cdf5.Float, []dataset.DimID{td, x}, dataset.Decomposed(d), dataset.Att("_FillValue", float32(7)))
	s.Var("never", cdf5.Short, []dataset.DimID{td, x}, dataset.Decomposed(d), dataset.Att("_FillValue", int16(-1)))
	s.Var("Q", cdf5.Double, []dataset.DimID{td, x}, dataset.Decomposed(d))
	s.Var("no_name", cdf5.Byte, []dataset.DimID{td})
	one := func(w *write.Writer, c comm.Comm, name string, rec int64) error {
		v, _ := w.Job.Schema.VarID(name)
		r := c.Rank()
		switch {
		case name == "never", name == "no_name", name == "time" && r != c.Size()-1:
			return nil
		case name == "time":
			return write.Put(w, v, rec, []float64{float64(rec)})
		}
		return write.Put(w, v, rec, make([]float64, w.Job.Count(d)))
	}
	part := func(c comm.Comm) []write.Part { // the last rank gets one element more than the others, or none
		runs := []decomp.Req{{Offset: int64(c.Rank()), Length: 1}}
		if c.Rank() == c.Size()-1 {
			runs[0].Length = int64(ranks) + 1 - runs[0].Offset
		}
		return []write.Part{{Decomp: d, Runs: runs}}
	}
	first := func(ctx context.Context, c comm.Comm) error {
		w, err := write.CreateWith(ctx, c, "d.nc", s, part(c), o)
		must(err)
		defer w.Abort()
		for rec := range int64(2) {
			for _, n := range names {
				if n != "Q" || rec == 0 { // only record 0 has Q
					err = errors.Join(err, one(w, c, n, rec))
				}
			}
			if rec == 0 {
				err = errors.Join(err, w.Commit(ctx))
			}
		}
		if end == "closed" || end == "more variables" {
			return errors.Join(err, w.Close(ctx))
		}
		for _, n := range names {
			if n == "Q" {
				err = errors.Join(err, one(w, c, n, 1))
			}
		}
		return errors.Join(err, w.Commit(ctx), c.Barrier(ctx)) // and dies
	}
	must(run(ranks, first))
	if end == "recovered" {
		if _, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: o.Fs}); err != nil {
			return err
		}
	}
	n := ranks
	if end == "other ranks" {
		n = 3
		o.Subfiles = min(o.Subfiles, n)
	}
	return run(n, func(ctx context.Context, c comm.Comm) error {
		var w *write.Writer
		r, err := read.OpenCommWith(ctx, c, "d.nc", nil, dataset.Knobs{Fs: o.Fs})
		must(err)
		from := r.Now().Data.Records
		if end == "more variables" {
			more := r.Now().Data.Extend()
			more.Var("new", cdf5.Double, more.Vars[0].Dims)
			w, err = resume.AppendSettings(ctx, c, "d.nc", more, part(c), o)
		} else {
			w, err = resume.AppendWith(ctx, c, "d.nc", part(c), o)
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		defer w.Abort()
		held := func(err error, want string) error {
			if he := new(write.HeldBackError); want == "" && err != nil || want != "" && (!errors.As(err, &he) || he.Info().String() != want) {
				return fmt.Errorf("commit: %v, want %q", err, want)
			}
			return nil
		}
		put := func(list ...string) (err error) {
			for _, n := range list {
				err = errors.Join(err, one(w, c, n, from))
			}
			return err
		}
		for _, step := range []struct {
			put  []string
			want string
		}{
			{[]string{"T"}, `record %d is held back: no rank has put "time" of record %[1]d`},
			{[]string{"time"}, `record %d is held back: rank 0 has not put "Q" of record %[1]d`},
			{[]string{"Q"}, ""},
		} {
			must(put(step.put...))
			want := ""
			if step.want != "" {
				want = fmt.Sprintf(step.want, from)
			}
			if err := held(w.Commit(ctx), want); err != nil {
				return fmt.Errorf("put of %v: %w", step.put, err)
			}
		}
		return w.Close(ctx)
	})
}
