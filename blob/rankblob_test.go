package blob

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"

	"github.com/google/go-cmp/cmp"
)

// A rank's blob is the one that the walk over all gives, in both layouts, and attributes
// set late are in the file.
func TestRankBlobIsTheBlobOfTheWalk(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		s := NewSchema()
		x := s.Dim("x", 30)
		d := s.Decomp(x)
		v := s.Var("v", cdf5.Int, []DimID{s.Dim("time", Unlimited), x}, Decomposed(d), Att("units", "1"))
		s.SetAtt(v, cdf5.Att{Name: "units", Type: cdf5.Char, Value: "K"})
		s.SetAtt(-1, cdf5.Att{Name: "title", Type: cdf5.Char, Value: "late"})
		name := filepath.Join(t.TempDir(), "f")
		err := comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error {
			r := int64(c.Rank())
			w := need(Create(ctx, c, name, s, []Part{{d, []decomp.Req{{Offset: 20 - r*10, Length: 10 - r}}}}, &Options{Layout: layout, Subfiles: 2}))
			for rec := range int64(2) {
				data := make([]int32, 10-r)
				for i := range data {
					data[i] = int32(1000*rec + 100*r + int64(i))
				}
				must(Put(w, v, rec, data))
				must(w.Flush(ctx))
			}
			return w.Close(ctx)
		})
		noError(t, err)
		r, err := Open(ctx, name, nil)
		noError(t, err)
		defer r.Close()
		if a := cdf5.FindAtt(r.Schema().Vars()[v].Atts, "units"); a == nil || a.Value != "K" {
			t.Errorf("%v: units: %v", layout, a)
		}
		if a := cdf5.FindAtt(r.Schema().Attributes(), "title"); a == nil || a.Value != "late" {
			t.Errorf("%v: title: %v", layout, a)
		}
		n := 0
		for want, err := range r.Blobs(ctx, "v", 1) {
			noError(t, err)
			got, err := r.RankBlob(ctx, "v", 1, want.Rank)
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("%v rank %d: %v %v", layout, want.Rank, err, cmp.Diff(want, got))
			}
			n++
		}
		if n != 3 {
			t.Errorf("%v: %d blobs, want 3", layout, n)
		}
		for _, c := range []struct {
			name string
			rec  int64
			rank int
		}{{"w", 0, 0}, {"v", 2, 0}, {"v", -1, 0}, {"v", 0, 3}, {"v", 0, -1}} {
			if _, err := r.RankBlob(ctx, c.name, c.rec, c.rank); !errors.Is(err, ErrUsage) {
				t.Errorf("%v: RankBlob(%v): %v, want ErrUsage", layout, c, err)
			}
		}
	}
}
