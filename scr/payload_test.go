package scr

import (
	"bytes"
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
	"blobio/ffformat"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// diskCluster returns a cluster in directories of the operating system.
func diskCluster(t *testing.T, nodes ...string) (*cluster, string) {
	dir := t.TempDir()
	cl := newCluster(t, nodes...)
	cl.fs = vfs.OS
	prefix := filepath.Join(dir, "prefix")
	must(t, os.MkdirAll(prefix, 0o777))
	cl.set("SCR_PREFIX", prefix, "SCR_CACHE_BASE", "/local", "SCR_CNTL_BASE", "/local")
	cl.opts = func(c *Config) {
		c.NodeRoot = filepath.Join(dir, "nodes", c.Node)
		c.NoCacheSync = true
	}
	return cl, dir
}

// TestBlobDataset writes a blob dataset. The ranks of a node write it together to the path that Route returns. The dataset
// must be protected and flushed like any file and survive the loss of a node. In the prefix directory it must be an
// ordinary blob dataset.
func TestBlobDataset(t *testing.T) {
	const cells = 30 // number of cells of each rank
	cl, dir := diskCluster(t, "node0", "node1", "node2", "node3")
	cl.set("SCR_FLUSH", "1")
	value := func(i int) float64 { return float64(i) * 1.25 }
	base := func(rank int) string { return fmt.Sprintf("step7/part%d", rank) }
	route := func(s *Session, rank int) (string, error) {
		name, err := s.Route(base(rank) + ".0000")
		if err != nil {
			return "", err
		}
		_, err = s.Route(base(rank) + ".manifest")
		return strings.TrimSuffix(name, ".0000"), err
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "step7", Checkpoint))
		name, err := route(s, rank)
		must(t, err)
		schema := blob.NewSchema()
		cell := schema.Dim("cell", 4*cells)
		d := schema.Decomp(cell)
		v := schema.Var("x", cdf5.Double, []blob.DimID{cell}, blob.Decomposed(d))
		parts := []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(rank * cells), Length: cells}}}}
		w, err := blob.Create(ctx, comm.Self(), name, schema, parts, nil)
		must(t, err)
		data := make([]float64, cells)
		for i := range data {
			data[i] = value(rank*cells + i)
		}
		must(t, blob.Put(w, v, 0, data))
		must(t, w.Close(ctx))
		return s.Complete(ctx, true)
	})
	check := func(ctx context.Context, name string, rank int) {
		t.Helper()
		r, err := blob.Open(ctx, name, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		got := make([]float64, cells)
		if err := r.Read(ctx, "x", []int64{int64(rank * cells)}, []int64{cells}, got); err != nil {
			t.Error(err)
		}
		for i, x := range got {
			if x != value(rank*cells+i) {
				t.Errorf("rank %d, cell %d: %v", rank, i, x)
				break
			}
		}
		for f := range blob.Check(ctx, name, nil) {
			if f.Severity != blob.Note {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	for rank := range 4 {
		check(context.Background(), filepath.Join(dir, "prefix", base(rank)), rank)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "nodes", "node2")))
	// Make the copies in the prefix directory unusable, so that the dataset must be read from the caches.
	must(t, prefixdir.Open(vfs.OS, filepath.Join(dir, "prefix")).Delete(context.Background(), "step7"))
	each(t, cl.on("node0", "node1", "node4", "node3"), func(ctx context.Context, s *Session, rank int) error {
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		name, err := route(s, rank)
		must(t, err)
		check(ctx, name, rank)
		return s.CompleteRestart(ctx, true)
	})
}

// TestFTICheckpoint does the same with an FTI-FF checkpoint file.
func TestFTICheckpoint(t *testing.T) {
	ctx := context.Background()
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	vars := func(rank int) []ffformat.VarBuf {
		return []ffformat.VarBuf{{ID: 1, Data: bytes.Repeat([]byte{byte(rank + 1)}, 3000)}, {ID: 7, Data: bytes.Repeat([]byte("heat"), 500+rank)}}
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "Ckpt1", Checkpoint))
		name, err := s.Route(fmt.Sprintf("Ckpt1-Rank%d.fti", rank))
		must(t, err)
		f, err := cl.fs.Create(name)
		must(t, err)
		w, err := ffformat.NewWriter(nil)
		must(t, err)
		u, err := w.Begin(f, ffformat.UpdateOptions{CkptID: 1, Timestamp: 1, Fresh: true})
		must(t, err)
		must(t, u.AddAll(ctx, vars(rank)))
		if _, err := u.Finish(ctx); err != nil {
			return err
		}
		must(t, f.Close())
		return s.Complete(ctx, true)
	})
	cl.lose("node1")
	each(t, cl.on("node0", "spare", "node2", "node3"), func(_ context.Context, s *Session, rank int) error {
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		name, err := s.Route(fmt.Sprintf("Ckpt1-Rank%d.fti", rank))
		must(t, err)
		f, err := cl.fs.Open(name)
		must(t, err)
		defer f.Close()
		size, err := f.Size()
		must(t, err)
		r, err := ffformat.NewReader(f, size, name, nil)
		must(t, err)
		for _, v := range vars(rank) {
			got := make([]byte, len(v.Data))
			if err := r.ReadVar(ctx, v.ID, got); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(got, v.Data) {
				t.Errorf("rank %d, variable %d: wrong bytes", rank, v.ID)
			}
		}
		return s.CompleteRestart(ctx, true)
	})
}
