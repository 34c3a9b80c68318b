package blob

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
)

// TestDiffValues: differences that float64 arithmetic hides are still differences.
func TestDiffValues(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var r [2]*Reader
	for k := range r {
		s := NewSchema()
		x := s.Dim("x", 2)
		i := s.Var("i", cdf5.Int64, []DimID{x})
		u := s.Var("u", cdf5.UInt64, []DimID{x})
		f := s.Var("f", cdf5.Double, []DimID{x})
		s.Var(fmt.Sprint("own", k), cdf5.Int, []DimID{x})
		name := filepath.Join(dir, fmt.Sprint(k))
		noError(t, comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
			w := need(Create(ctx, c, name, s, nil, nil))
			must(Put(w, i, 0, []int64{1<<60 + int64(k), -5}))
			must(Put(w, u, 0, []uint64{math.MaxUint64 - uint64(k), 5}))
			must(Put(w, f, 0, []float64{[]float64{math.Inf(1), 5}[k], math.NaN()}))
			return w.Close(ctx)
		}))
		var err error
		if r[k], err = Open(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
		defer r[k].Close()
	}
	const (
		inf = `1 of 2 values differ; the first at [0]: +Inf against 5; the largest difference is +Inf`
	)
	for _, c := range []struct {
		o    DiffOptions
		want []string
	}{
		{DiffOptions{Vars: []string{"i"}}, []string{`1 of 2 values differ; the first at [0]: 1152921504606846976 against 1152921504606846977; the largest difference is 1`}},
		{DiffOptions{Vars: []string{"u"}}, []string{`1 of 2 values differ; the first at [0]: 18446744073709551615 against 18446744073709551614; the largest difference is 1`}},
		{DiffOptions{Vars: []string{"i", "u"}, AbsTol: 1}, nil},
		{DiffOptions{Vars: []string{"f"}}, []string{inf}},
		{DiffOptions{Vars: []string{"f"}, RelTol: 1e-6, AbsTol: 1e300}, []string{inf}},
		{DiffOptions{Vars: []string{"own0", "own1"}}, []string{`variable "own1" is only in the second`, `variable "own0" is only in the first`}},
	} {
		c.o.ValueOnly = true
		var got []string
		for f := range Diff(ctx, r[0], r[1], &c.o) {
			got = append(got, f.Msg)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v:\ngot  %q\nwant %q", c.o, got, c.want)
		}
	}
}
