package blob_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/crashtest"
	"blobio/subfile"
)

// TestFlushSizes: however a flush is cut, the file is the same. One session has flushes of many sizes, so that
// workers use buffers of one for another, and pieces larger than a task.
func TestFlushSizes(t *testing.T) {
	const ranks = 3
	sizes := []int64{1, 70_001, 100_007, 5, 300_001} // elements of a rank's piece, by variable
	s := blob.NewSchema()
	decomps := make([]blob.DecompID, len(sizes))
	for v, n := range sizes {
		d := s.Dim(fmt.Sprintf("n%d", v), n*ranks)
		decomps[v] = s.Decomp(d)
		s.Var(fmt.Sprintf("v%d", v), []cdf5.Type{cdf5.Float, cdf5.Short}[v%2], []blob.DimID{d}, blob.Decomposed(decomps[v]))
	}
	write := func(name string, o blob.Options) {
		t.Helper()
		o.Force, o.Durability = true, blob.DurableNone
		err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			var parts []blob.Part
			for v, n := range sizes {
				parts = append(parts, blob.Part{Decomp: decomps[v], Runs: []decomp.Req{{Offset: n * int64(c.Rank()), Length: n}}})
			}
			w, err := blob.Create(ctx, c, name, s, parts, &o)
			if err != nil {
				return err
			}
			for v, n := range sizes {
				x := make([]float32, n)
				y := make([]int16, n)
				for i := range x {
					x[i], y[i] = float32(i)+float32(c.Rank())/4, int16(i*7+c.Rank())
				}
				if v%2 == 0 {
					err = blob.Put(w, blob.VarID(v), 0, x)
				} else {
					err = blob.Put(w, blob.VarID(v), 0, y)
				}
				if err != nil {
					return err
				}
				if err := w.Flush(ctx); err != nil {
					return err
				}
			}
			return w.Close(ctx)
		})
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
	}
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		dir := t.TempDir()
		want := []byte(nil)
		more := []blob.Options{{Workers: 1}, {Workers: 2}, {Workers: 7}, {Buffer: 64 << 10, Workers: 2}, {Buffer: 100_001, Workers: 3}}
		for k, o := range append([]blob.Options{{Buffer: 1 << 30, Workers: 1}}, crashtest.Some(t, 2, more)...) {
			o.Layout, o.Records = l, 1
			name := filepath.Join(dir, fmt.Sprintf("f%d", k))
			write(name, o)
			got, err := os.ReadFile(name + ".0000")
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			} else if !bytes.Equal(got, want) {
				t.Errorf("%v, Buffer %d, Workers %d: the file is another", l, o.Buffer, o.Workers)
			}
			if err := check(name); err != nil {
				t.Errorf("%v, Buffer %d, Workers %d: %v", l, o.Buffer, o.Workers, err)
			}
		}
	}
}

// check is the first thing that blob.Check finds.
func check(name string) error {
	for f := range blob.Check(context.Background(), name, nil) {
		if f.Severity > blob.Note {
			return fmt.Errorf("%v", f)
		}
	}
	return nil
}

// TestIdleSubfile: a flush for which no rank of a subfile has put anything writes nothing to it, and the
// files are those of one flush of all.
func TestIdleSubfile(t *testing.T) {
	const ranks, each, subfiles = 6, 5, 3
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		dir := t.TempDir()
		s := blob.NewSchema()
		x := s.Dim("x", ranks*each)
		v := s.Var("v", cdf5.Float, []blob.DimID{x}, blob.Decomposed(s.Decomp(x)))
		write := func(name string, flushes int) {
			t.Helper()
			err := comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []blob.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: int64(c.Rank()) * each, Length: each}}}}
				o := &blob.Options{Layout: l, Subfiles: subfiles, Grouping: subfile.Blocks, Records: 1, CommitMode: blob.CommitManifestOnly, Durability: blob.DurableNone}
				w, err := blob.Create(ctx, c, name, s, parts, o)
				if err != nil {
					return err
				}
				file := c.Rank() * subfiles / ranks
				for k := range flushes {
					if flushes == 1 || k == file {
						if err := blob.Put(w, v, 0, []float32{1, 2, 3, float32(c.Rank()), 5}); err != nil {
							return err
						}
					}
					if err := w.Flush(ctx); err != nil {
						return err
					}
					if c.Rank() == 0 {
						for f := range subfiles {
							info, err := os.Stat(subfile.Name(name, f))
							if err != nil {
								return err
							}
							if written := info.Size() > 0; written != (flushes == 1 || f <= k) {
								t.Errorf("%v: subfile %d has %d bytes after flush %d", l, f, info.Size(), k)
							}
						}
					}
					if err := c.Barrier(ctx); err != nil {
						return err
					}
				}
				return w.Close(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		one, more := filepath.Join(dir, "one"), filepath.Join(dir, "more")
		write(one, 1)
		write(more, subfiles)
		for f := range subfiles {
			a, err := os.ReadFile(subfile.Name(one, f))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(subfile.Name(more, f))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%v: subfile %d is another: %v", l, f, err)
			}
		}
	}
}
