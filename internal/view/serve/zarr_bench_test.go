package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// deep makes a dataset of many ranks, each with scattered columns of 64 levels. Chunks are 2 MiB, half of a record.
func deep(t testing.TB, name string, layout blob.Layout) {
	t.Helper()
	const ranks, cols, lev = 256, 16384, 64
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, z, col := s.Dim("time", blob.Unlimited), s.Dim("lev", lev), s.Dim("ncol", cols)
		d := s.Decomp(z, col)
		v := s.Var("T", cdf5.Float, []blob.DimID{tm, z, col}, blob.Decomposed(d))
		var runs []decomp.Req
		for k := range lev {
			for i := c.Rank(); i < cols; i += ranks {
				runs = append(runs, decomp.Req{Offset: int64(k*cols + i), Length: 1})
			}
		}
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: runs}}, &blob.Options{Layout: layout, Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		data := make([]float32, len(runs))
		for i := range data {
			data[i] = float32(runs[i].Offset)
		}
		if err := blob.Put(w, v, 0, data); err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}))
}

// BenchmarkZarrChunk gets chunks sequentially. B/op is the allocation of server and client per chunk.
func BenchmarkZarrChunk(b *testing.B) {
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		b.Run(l.String(), func(b *testing.B) {
			dir := b.TempDir()
			deep(b, filepath.Join(dir, "x.nc"), l)
			x := start(b, dir, &Options{ZarrChunk: 2 << 20, Memory: defaultMemory})
			b.SetBytes(2 << 20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				resp, err := x.Client().Get(x.URL + fmt.Sprintf("/zarr/x.nc/T/0.%d.0", i%2))
				ok(b, err)
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 2<<20 || resp.StatusCode != http.StatusOK {
					b.Fatalf("%s: %d bytes (%v)", resp.Status, n, err)
				}
				ok(b, resp.Body.Close())
			}
		})
	}
}

// TestZarrChunksShareMemory checks that chunk memory is reused.
func TestZarrChunksShareMemory(t *testing.T) {
	dir := t.TempDir()
	deep(t, filepath.Join(dir, "x.nc"), blob.ProcessCentric)
	x := start(t, dir, &Options{ZarrChunk: 2 << 20, Memory: defaultMemory})
	var was, is runtime.MemStats
	least := uint64(1 << 40)
	for range 20 {
		runtime.ReadMemStats(&was)
		resp := x.ask(t, http.MethodGet, "/zarr/x.nc/T/0.1.0")
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 2<<20 {
			t.Fatalf("%s: %d bytes (%v)", resp.Status, n, err)
		}
		runtime.ReadMemStats(&is)
		least = min(least, is.TotalAlloc-was.TotalAlloc)
	}
	if least > 1<<20 { // a garbage collection may have freed the memory
		t.Errorf("each chunk of 2 MiB takes %d bytes of new memory at least, want the old one", least)
	}
}
