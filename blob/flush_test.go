package blob

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestFlushSizes checks that the number of flushes does not change the files. One of the sessions has flushes of many sizes.
// Its workers reuse buffers, and some pieces are larger than a task.
func TestFlushSizes(t *testing.T) {
	const ranks = 3
	sizes := []int64{1, 70_001, 100_007, 5, 300_001} // elements of each rank's piece of each variable
	s := dataset.NewSchema()
	decomps := make([]dataset.DecompID, len(sizes))
	for v, n := range sizes {
		d := s.Dim(fmt.Sprintf("n%d", v), n*ranks)
		decomps[v] = s.Decomp(d)
		s.Var(fmt.Sprintf("v%d", v), []cdf5.Type{cdf5.Float, cdf5.Short}[v%2], []dataset.DimID{d}, dataset.Decomposed(decomps[v]))
	}
	write := func(name string, o dataset.Options) {
		t.Helper()
		o.Force, o.Durability = true, dataset.DurableNone
		err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			var parts []write.Part
			for v, n := range sizes {
				parts = append(parts, write.Part{Decomp: decomps[v], Runs: []decomp.Req{{Offset: n * int64(c.Rank()), Length: n}}})
			}
			w := need(write.Create(ctx, c, name, s, parts, &o))
			for v, n := range sizes {
				x := make([]float32, n)
				y := make([]int16, n)
				for i := range x {
					x[i], y[i] = float32(i)+float32(c.Rank())/4, int16(i*7+c.Rank())
				}
				if v%2 == 0 {
					must(write.Put(w, dataset.VarID(v), 0, x))
				} else {
					must(write.Put(w, dataset.VarID(v), 0, y))
				}
				must(w.Flush(ctx))
			}
			return w.Close(ctx)
		})
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
	}
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		dir := t.TempDir()
		want := []byte(nil)
		more := []dataset.Options{{Workers: 1}, {Workers: 2}, {Workers: 7}, {Buffer: 64 << 10, Workers: 2}, {Buffer: 100_001, Workers: 3}}
		for k, o := range append([]dataset.Options{{Buffer: 1 << 30, Workers: 1}}, crashtest.Some(t, 2, more)...) {
			o.Layout, o.Records = l, 1
			name := filepath.Join(dir, fmt.Sprintf("f%d", k))
			write(name, o)
			got := need(os.ReadFile(name + ".0000"))
			if want == nil {
				want = got
			} else if !bytes.Equal(got, want) {
				t.Errorf("%v, Buffer %d, Workers %d: the file is another", l, o.Buffer, o.Workers)
			}
			onlyNotes(t, fmt.Sprintf("%v, Buffer %d, Workers %d", l, o.Buffer, o.Workers), vfs.OS, name)
		}
	}
}

// TestIdleSubfile checks that a flush writes nothing to a subfile if its ranks have put nothing. A session with a
// single flush writes the same files.
func TestIdleSubfile(t *testing.T) {
	const ranks, each, subfiles = 6, 5, 3
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		dir := t.TempDir()
		s := dataset.NewSchema()
		x := s.Dim("x", ranks*each)
		v := s.Var("v", cdf5.Float, []dataset.DimID{x}, dataset.Decomposed(s.Decomp(x)))
		write := func(name string, flushes int) {
			t.Helper()
			noError(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []write.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: int64(c.Rank()) * each, Length: each}}}}
				o := &dataset.Options{Layout: l, Subfiles: subfiles, Grouping: subfile.Blocks, Records: 1, Renames: dataset.CommitManifestOnly, Durability: dataset.DurableNone}
				w := need(write.Create(ctx, c, name, s, parts, o))
				file := c.Rank() * subfiles / ranks
				for k := range flushes {
					if flushes == 1 || k == file {
						must(write.Put(w, v, 0, []float32{1, 2, 3, float32(c.Rank()), 5}))
					}
					must(w.Flush(ctx))
					if c.Rank() == 0 {
						for f := range subfiles {
							info := need(os.Stat(subfile.Name(name, f)))
							if written := info.Size() > 0; written != (flushes == 1 || f <= k) {
								t.Errorf("%v: subfile %d has %d bytes after flush %d", l, f, info.Size(), k)
							}
						}
					}
					must(c.Barrier(ctx))
				}
				return w.Close(ctx)
			}))
		}
		one, more := filepath.Join(dir, "one"), filepath.Join(dir, "more")
		write(one, 1)
		write(more, subfiles)
		for f := range subfiles {
			a := need(os.ReadFile(subfile.Name(one, f)))
			b, err := os.ReadFile(subfile.Name(more, f))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%v: subfile %d is another: %v", l, f, err)
			}
		}
	}
}
