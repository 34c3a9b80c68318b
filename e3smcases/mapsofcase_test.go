package e3smcases_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/fault"
)

// mapsOf returns small maps of a case.
func mapsOf(t *testing.T, letter string) []*decomp.Map {
	t.Helper()
	maps, err := e3smcases.F{Ne: 2, Levels: 3, Ranks: 2}.Maps()
	switch letter {
	case "G":
		maps, err = e3smcases.G{Cells: 60, Levels: 2, Ranks: 3, Seed: 5}.Maps()
	case "I":
		maps, err = e3smcases.I{Lat: 6, Lon: 8, Ranks: 3}.Maps()
	}
	if err != nil {
		t.Fatal(err)
	}
	return maps
}

// TestMapsOfCase checks that Maps makes maps with the dimensions of a dataset, and rejects a dataset of another shape.
func TestMapsOfCase(t *testing.T) {
	for _, name := range []string{"F_h1", "G", "I_h0"} {
		c, err := e3smcases.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		maps := mapsOf(t, name[:1])
		of, err := c.WithMapDims(maps)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Maps(of.Dims, 4)
		if name == "G" { // the numbers of edges and vertices depend on the seed
			maps, err = e3smcases.G{Cells: 60, Levels: 2, Ranks: 4}.Maps()
		}
		if err != nil || len(got) != len(maps) {
			t.Fatalf("%s: %d maps, %v", name, len(got), err)
		}
		for k := range got {
			if !slices.Equal(got[k].Dims(), maps[k].Dims()) || got[k].Ranks() != 4 {
				t.Errorf("%s: D%d is of %v for %d ranks, want %v", name, k+1, got[k].Dims(), got[k].Ranks(), maps[k].Dims())
			}
		}
		with := func(l int64) []cdf5.Dim {
			dims := slices.Clone(of.Dims)
			dims[c.MapDims[2][0]].Len, dims[c.MapDims[2][1]].Len = l, l
			return dims
		}
		for what, dims := range map[string][]cdf5.Dim{"none": nil, "of no length": with(0), "too long": with(math.MaxInt32 + 1)} {
			if _, err := c.Maps(dims, 4); !errors.Is(err, fault.ErrMapMismatch) {
				t.Errorf("%s: dimensions %s: %v", name, what, err)
			}
		}
		if _, err := c.Maps(of.Dims, 0); err == nil {
			t.Errorf("%s: maps of no ranks", name)
		}
	}
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Maps([]cdf5.Dim{{Name: "lev", Len: 3}, {Name: "ncol", Len: 100}}, 4); !errors.Is(err, fault.ErrMapMismatch) {
		t.Errorf("100 columns: %v", err)
	}
}
