package versioned_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"blobio/comm"
	"blobio/versioned"
)

// TestDiff: runs of elements that differ by their bits, how far they are apart, and what is left out.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	st := &versioned.Store{Dir: dir}
	steps := [][]float64{{0, 1, 2, 3, 4, 5}, {0, 1.5, 4, 3, math.NaN(), 5}, {math.Copysign(0, -1), 1.5, 4, 3, math.NaN(), 5}}
	if err := comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "a", Type: versioned.Float64, Shape: []int64{2, 3}, Chunk: 512}, &versioned.Options{Durability: versioned.DurableNone})
		if err != nil {
			return err
		}
		for i, x := range steps {
			if err := versioned.Put(ctx, a, []int64{0, 0}, []int64{2, 3}, x); err != nil {
				return err
			}
			if _, err := a.Inc(ctx, int64(1), string(rune('a'+i))); err != nil {
				return err
			}
		}
		return a.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	v, err := versioned.OpenView(dir+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	all := v.Versions()
	n := len(all)
	first, second, third := all[n-3].Number, all[n-2].Number, all[n-1].Number
	two, zero := 2.0, 0.0
	for _, c := range []struct {
		from, to int64
		most     int
		want     versioned.Difference
	}{
		{first, first, 0, versioned.Difference{Equal: true, Elements: 6}},
		{first, second, 0, versioned.Difference{Elements: 6, Differ: 3, Ranges: []versioned.DiffRange{{Lo: 1, Hi: 3, Elements: 2, Largest: &two}, {Lo: 4, Hi: 5, Elements: 1}}}},
		{first, second, 1, versioned.Difference{Elements: 6, Differ: 3, More: 1, Ranges: []versioned.DiffRange{{Lo: 1, Hi: 3, Elements: 2, Largest: &two}}}},
		{second, third, 0, versioned.Difference{Elements: 6, Differ: 1, Largest: &zero, Ranges: []versioned.DiffRange{{Lo: 0, Hi: 1, Elements: 1, Largest: &zero}}}},
	} {
		done := int64(0)
		got, err := v.Diff(t.Context(), c.from, c.to, &versioned.DiffOptions{Ranges: c.most, Progress: func(d, total int64) {
			if done = d; total != 48 {
				t.Errorf("%d bytes in all, want 48", total)
			}
		}})
		if err != nil || done != 48 {
			t.Fatalf("%d to %d: %v, %d bytes were compared", c.from, c.to, err, done)
		}
		got.Ranges = append([]versioned.DiffRange(nil), got.Ranges...)
		want := c.want
		want.Array, want.From, want.To = "a", c.from, c.to
		for i := range got.Ranges { // without what is not exported
			r := got.Ranges[i]
			got.Ranges[i] = versioned.DiffRange{Lo: r.Lo, Hi: r.Hi, Elements: r.Elements, Largest: r.Largest}
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%d to %d: %+v, want %+v", c.from, c.to, *got, want)
		}
	}
	if _, err := v.Diff(t.Context(), first, third+1, nil); !errors.Is(err, versioned.ErrNoVersion) {
		t.Errorf("a version that is not there: %v", err)
	}
}
