package judges

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/subfile"
)

// TestCommittedHeaders: at every commit ncvalidator and ncdump find in a copy of each variable-centric subfile, without manifest and log, a valid file with as many
// records as are committed and their values; and so they do in the files of a set that other ranks add.
func TestCommittedHeaders(t *testing.T) {
	need(t, "ncdump", "ncvalidator")
	const n, records = 12, 4
	dir := t.TempDir()
	base := filepath.Join(dir, "d.nc")
	look := func(set string, first, committed int64) {
		for k := range 2 {
			b, err := os.ReadFile(subfile.Name(set, k))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "copy.nc")
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			if out := run(t, "ncvalidator", path); !strings.Contains(out, "is a valid NetCDF classic CDF-5 file") {
				t.Errorf("%s at record %d: %s", filepath.Base(set), committed, out)
			}
			out := run(t, "ncdump", "-v", "time", path)
			if want := fmt.Sprintf("UNLIMITED ; // (%d currently)", committed-first); !strings.Contains(out, want) {
				t.Errorf("%s at record %d: no %q in %s", filepath.Base(set), committed, want, out)
			}
			var times []string
			for rec := first; rec < committed; rec++ {
				times = append(times, fmt.Sprint(10*rec))
			}
			if want := "time = " + strings.Join(times, ", ") + " ;"; !strings.Contains(out, want) {
				t.Errorf("%s at record %d: no %q in %s", filepath.Base(set), committed, want, out)
			}
		}
	}
	write := func(ranks int, first, until int64, set string) {
		s := blob.NewSchema()
		tm, x := s.Dim("time", blob.Unlimited), s.Dim("x", n)
		s.Var("T", cdf5.Float, []blob.DimID{tm, x}, blob.Decomposed(s.Decomp(x)))
		s.Var("time", cdf5.Double, []blob.DimID{tm})
		committed, looked, ended := make(chan int64), make(chan bool), make(chan error, 1)
		job := func(ctx context.Context, c comm.Comm) error {
			each := int64(n / ranks)
			parts := []blob.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: each * int64(c.Rank()), Length: each}}}}
			o := &blob.Options{Subfiles: 2}
			var w *blob.Writer
			var err error
			if first == 0 {
				w, err = blob.Create(ctx, c, base, s, parts, o)
			} else {
				w, err = blob.Append(ctx, c, base, nil, parts, o)
			}
			if err != nil {
				return err
			}
			defer w.Abort()
			for rec := first; rec < until; rec++ {
				if err := blob.Put(w, 0, rec, make([]float32, each)); err != nil {
					return err
				}
				if err := blob.Put(w, 1, rec, []float64{float64(10 * rec)}); err != nil {
					return err
				}
				if err := w.Commit(ctx); err != nil {
					return err
				}
				if c.Rank() == 0 {
					select {
					case committed <- rec + 1:
					case <-ctx.Done():
						return ctx.Err()
					}
					select {
					case <-looked:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				if err := c.Barrier(ctx); err != nil {
					return err
				}
			}
			return w.Close(ctx)
		}
		go func() { ended <- comm.Run(t.Context(), ranks, nil, job) }()
		for running := true; running; {
			select {
			case n := <-committed:
				look(set, first, n)
				looked <- true
			case err := <-ended:
				if running = false; err != nil {
					t.Fatal(err)
				}
			}
		}
		look(set, first, until)
	}
	write(4, 0, records, base)
	write(3, records, 2*records, base+"+1")
	look(base, 0, records)
}
