package fieldplot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// mesh writes blobs of n cells and some levels by 16 ranks, levels behind cells (as MPAS has them) or before (as EAM).
func mesh(b *testing.B, n, levels int64, behind bool) *Data {
	b.Helper()
	name := filepath.Join(b.TempDir(), "mesh.nc")
	lon, lat := sphere(int(n))
	err := comm.Run(context.Background(), 16, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		cells, lev := s.Dim("nc", n), s.Dim("lev", levels)
		d1 := s.Decomp(cells)
		order := []blob.DimID{lev, cells}
		if behind {
			order = []blob.DimID{cells, lev}
		}
		d2 := s.Decomp(order...)
		s.Var("lat", cdf5.Double, []blob.DimID{cells}, blob.Decomposed(d1), blob.Att("units", "degrees_north"))
		s.Var("lon", cdf5.Double, []blob.DimID{cells}, blob.Decomposed(d1), blob.Att("units", "degrees_east"))
		v := s.Var("v", cdf5.Float, order, blob.Decomposed(d2))
		lo, hi := n*int64(c.Rank())/16, n*int64(c.Rank()+1)/16
		runs := []decomp.Req{{Offset: lo * levels, Length: (hi - lo) * levels}}
		if !behind {
			runs = nil
			for k := range levels {
				runs = append(runs, decomp.Req{Offset: k*n + lo, Length: hi - lo})
			}
		}
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d1, Runs: []decomp.Req{{Offset: lo, Length: hi - lo}}}, {Decomp: d2, Runs: runs}}, &blob.Options{Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		data := make([]float32, (hi-lo)*levels)
		for i := range data {
			data[i] = float32(i % 1000)
		}
		err = errors.Join(blob.Put(w, 0, 0, lat[lo:hi]), blob.Put(w, 1, 0, lon[lo:hi]), blob.Put(w, v, 0, data))
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	})
	if err != nil {
		b.Fatal(err)
	}
	r, err := blob.Open(context.Background(), name, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return &Data{Reader: r, ID: name}
}

// BenchmarkMap draws a map of many cells (BLOBIO_CELLS), the first one and those of further levels.
func BenchmarkMap(b *testing.B) {
	n := int64(100_000)
	if s := os.Getenv("BLOBIO_CELLS"); s != "" {
		var err error
		if n, err = strconv.ParseInt(s, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	const levels = 8
	for name, behind := range map[string]bool{"levels first": false, "levels last": true} {
		d := mesh(b, n, levels, behind)
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				if _, err := NewAtlas(0).Draw(b.Context(), d, &Options{Var: "v"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/next", func(b *testing.B) {
			a := NewAtlas(1)
			if _, err := a.Draw(b.Context(), d, &Options{Var: "v", Width: 720}); err != nil { // makes the grid
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := a.Draw(b.Context(), d, &Options{Var: "v", At: map[string]int64{"lev": int64(i) % levels}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
