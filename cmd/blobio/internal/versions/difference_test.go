package versions

import (
	"context"
	"math"
	"reflect"
	"testing"

	"blobio/comm"
	"blobio/internal/base/testfiles"
	"blobio/versioned"
)

var must = testfiles.Must

// TestDifference checks the ranges of elements that differ in their bits, the distances, and the
// number of omitted ranges.
func TestDifference(t *testing.T) {
	dir := t.TempDir()
	steps := [][]float64{{0, 1, 2, 3, 4, 5}, {0, 1.5, 4, 3, math.NaN(), 5}, {math.Copysign(0, -1), 1.5, 4, 3, math.NaN(), 5}}
	must(t, comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Create(ctx, c, &versioned.Store{Dir: dir}, versioned.Spec{Name: "a", Type: versioned.TypeOf[float64](), Shape: []int64{2, 3}, Chunk: 512}, &versioned.Options{Durability: versioned.DurableNone})
		must(t, err)
		for _, x := range steps {
			must(t, versioned.Put(ctx, a, []int64{0, 0}, []int64{2, 3}, x))
			_, err := a.Inc(ctx, 1, "")
			must(t, err)
		}
		return a.Close(ctx)
	}))
	v, err := versioned.OpenView(dir+"/a", nil, nil)
	must(t, err)
	defer v.Close()
	all := v.Versions()
	two, zero := 2.0, 0.0
	for _, x := range []struct {
		from, to, most int
		want           difference
	}{
		{1, 1, 9, difference{Equal: true, Elements: 6}},
		{1, 2, 9, difference{Elements: 6, Differ: 3, Ranges: []diffRange{{Lo: 1, Hi: 3, Elements: 2, Largest: &two, largest: 2}, {Lo: 4, Hi: 5, Elements: 1}}}},
		{1, 2, 1, difference{Elements: 6, Differ: 3, More: 1, Ranges: []diffRange{{Lo: 1, Hi: 3, Elements: 2, Largest: &two, largest: 2}}}},
		{2, 3, 9, difference{Elements: 6, Differ: 1, Largest: &zero, Ranges: []diffRange{{Lo: 0, Hi: 1, Elements: 1, Largest: &zero}}}},
	} {
		done := int64(0)
		c := comparison{v: v, from: all[x.from], to: all[x.to], most: x.most, progress: func(d, total int64) { done = d + total - 48 }}
		if err := c.run(t.Context()); err != nil || done != 48 {
			t.Fatalf("%d to %d: %v, %d bytes were compared", x.from, x.to, err, done)
		}
		got := c.difference
		for i := range got.Ranges {
			if r := &got.Ranges[i]; math.IsNaN(r.largest) {
				r.largest = 0
			}
		}
		x.want.Array, x.want.From, x.want.To = "a", int64(x.from), int64(x.to)
		if x.want.Ranges == nil {
			x.want.Ranges = []diffRange{}
		}
		if !reflect.DeepEqual(got, x.want) {
			t.Errorf("%d to %d: %+v, want %+v", x.from, x.to, got, x.want)
		}
	}
}
