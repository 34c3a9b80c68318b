package blob_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

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
