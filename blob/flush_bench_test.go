package blob_test

import (
	"context"
	"fmt"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// BenchmarkFlush: eight flushes of a record each, 32 variables of 16 ranks, by the bytes of a flush. What a flush
// costs beside its bytes, and how well the workers share few of them, shows where it is small.
func BenchmarkFlush(b *testing.B) {
	const ranks, vars, records = 16, 32, 8
	dir := memoryDir(b)
	for _, mib := range []int64{1, 8, 32, 128} {
		n := mib << 20 / 8 / vars / ranks // elements of a piece
		s := blob.NewSchema()
		time, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", n*ranks)
		d := s.Decomp(col)
		for v := range vars {
			s.Var(fmt.Sprintf("v%d", v), cdf5.Double, []blob.DimID{time, col}, blob.Decomposed(d))
		}
		data := make([][]float64, ranks*vars)
		for k := range data {
			data[k] = make([]float64, n)
			for i := range data[k] {
				data[k][i] = float64(i) + float64(k)/3
			}
		}
		for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
			b.Run(fmt.Sprintf("%v/%dMiB", l, mib), func(b *testing.B) {
				b.SetBytes(records * mib << 20)
				o := &blob.Options{Layout: l, Records: records, Durability: blob.DurableNone, Force: true, Retain: blob.LendUntilFlush}
				for b.Loop() {
					err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
						part := blob.Part{Decomp: d, Runs: []decomp.Req{{Offset: n * int64(c.Rank()), Length: n}}}
						w, err := blob.Create(ctx, c, dir+"/f.nc", s, []blob.Part{part}, o)
						if err != nil {
							return err
						}
						for rec := range int64(records) {
							for v := range vars {
								if err := blob.Put(w, blob.VarID(v), rec, data[c.Rank()*vars+v]); err != nil {
									return err
								}
							}
							if err := w.Flush(ctx); err != nil {
								return err
							}
						}
						return w.Close(ctx)
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
