package zarr

import (
	"context"
	"math"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// Sizes of the dataset in these tests. Some columns have no owner.
const (
	ncol, nlev, nrec, ranks = 700, 9, 3, 4
	owned                   = ncol - 11
)

// dataset writes T, PS and variables without a decomposition, and returns the dataset's name.
func dataset(t *testing.T, name string, layout blob.Layout) string {
	t.Helper()
	err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		time, lev, col, chars := s.Dim("time", blob.Unlimited), s.Dim("lev", nlev), s.Dim("ncol", ncol), s.Dim("nchars", 8)
		d2, d3 := s.Decomp(col), s.Decomp(lev, col)
		temp := s.Var("T", cdf5.Float, []blob.DimID{time, lev, col}, blob.Decomposed(d3), blob.Att("units", "K"), blob.Att(fillName, []float32{1e20}))
		ps := s.Var("PS", cdf5.Double, []blob.DimID{time, col}, blob.Decomposed(d2))
		times := s.Var("time", cdf5.Double, []blob.DimID{time}, blob.Att("units", "days since 0001-01-01"))
		area := s.Var("area", cdf5.Double, []blob.DimID{col}, blob.Decomposed(d2), blob.Att(fillName, []float64{math.NaN()}))
		date := s.Var("date_written", cdf5.Char, []blob.DimID{time, chars})
		p0 := s.Var("P0", cdf5.Double, nil)
		var runs2, runs3 []decomp.Req
		for i := int64(c.Rank()); i < owned; i += ranks {
			runs2 = append(runs2, decomp.Req{Offset: i, Length: 1})
		}
		for k := range int64(nlev) {
			for _, q := range runs2 {
				runs3 = append(runs3, decomp.Req{Offset: k*ncol + q.Offset, Length: 1})
			}
		}
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d2, Runs: runs2}, {Decomp: d3, Runs: runs3}}, &blob.Options{Layout: layout, Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		values := func(runs []decomp.Req, rec int64) (v []float64) {
			for _, q := range runs {
				v = append(v, float64(rec)*1e6+float64(q.Offset))
			}
			return v
		}
		put := func(v blob.VarID, rec int64, data any) {
			if err == nil {
				switch x := data.(type) {
				case []float64:
					err = blob.Put(w, v, rec, x)
				case []byte:
					err = blob.Put(w, v, rec, x)
				}
			}
		}
		put(area, 0, values(runs2, 9))
		put(p0, 0, []float64{1e5})
		for rec := range int64(nrec) {
			put(temp, rec, values(runs3, rec))
			put(ps, rec, values(runs2, rec))
			put(times, rec, []float64{float64(rec) / 8})
			put(date, rec, []byte("01/0"+string(rune('1'+rec))+"/01"))
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func openDataset(t *testing.T, name string, v blob.Verification) *blob.Reader {
	t.Helper()
	r, err := blob.Open(context.Background(), name, &blob.OpenOptions{Verify: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// equal compares the arrays from a plain reader with the dataset.
func equal(t *testing.T, arrays map[string]*found, r *blob.Reader) {
	t.Helper()
	if len(arrays) != len(r.Schema().Vars()) {
		t.Errorf("%d arrays, want %d", len(arrays), len(r.Schema().Vars()))
	}
	for i, v := range r.Schema().Vars() {
		n := int64(v.Type.Size()) * r.Schema().Elems(blob.VarID(i))
		if v.Record {
			n *= r.Records()
		}
		want := make([]byte, n)
		if err := r.ReadBytes(context.Background(), v.Name, nil, nil, want, false); err != nil {
			t.Fatal(err)
		}
		if f := arrays[v.Name]; f == nil || string(f.raw) != string(want) {
			t.Errorf("%s has other values", v.Name)
		}
	}
}
