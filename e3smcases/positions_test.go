package e3smcases_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/fault"
)

// mapsOf are small maps of a case.
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

// TestPositions: each item of each map of a case has a place on the sphere, and maps of no such case have none.
func TestPositions(t *testing.T) {
	all := map[string]func(maps []*decomp.Map, k int) (lon, lat []float32, err error){
		"F": e3smcases.F{}.Positions, "G": e3smcases.G{Seed: 5}.Positions, "I": e3smcases.I{}.Positions}
	for letter, positions := range all {
		maps := mapsOf(t, letter)
		for k := range maps {
			dims := maps[k].Dims()
			want := map[string]int64{"F": dims[len(dims)-1], "G": dims[0], "I": 48}[letter]
			lon, lat, err := positions(maps, k+1)
			if err != nil || int64(len(lon)) != want || int64(len(lat)) != want {
				t.Errorf("%s, D%d: %d and %d positions, %v; want %d", letter, k+1, len(lon), len(lat), err, want)
			}
			if slices.Max(lat) > 90 || slices.Min(lat) < -90 || slices.Max(lon) > 360 || slices.Min(lon) < -180 {
				t.Errorf("%s, D%d: beyond the sphere", letter, k+1)
			}
			for other, positions := range all {
				if _, _, err := positions(maps, k+1); other != letter && !errors.Is(err, fault.ErrMapMismatch) {
					t.Errorf("D%d of %s as of %s: %v", k+1, letter, other, err)
				}
			}
		}
		if _, _, err := positions(maps, len(maps)+1); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: a map that is not there: %v", letter, err)
		}
	}
	if _, _, err := (e3smcases.F{Ne: 3}).Positions(mapsOf(t, "F"), 1); !errors.Is(err, fault.ErrMapMismatch) {
		t.Errorf("F: columns of another ne: %v", err)
	}
	foreign := mapsOf(t, "G")
	foreign[1] = foreign[0]
	if _, _, err := (e3smcases.G{Seed: 5}).Positions(foreign, 1); !errors.Is(err, fault.ErrMapMismatch) {
		t.Errorf("G: a mesh with other edges: %v", err)
	}
}

// TestPositionsHuge: a small file can have a map of any size; positions of it are not made.
func TestPositionsHuge(t *testing.T) {
	huge := func(dims ...int64) *decomp.Map {
		m, err := decomp.NewBuilder(dims, 1).Map()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const n = 1 << 40
	f, i := huge(54*n+2), huge(1<<30, 1<<30)
	g := []*decomp.Map{huge(n), huge(n), huge(n, 2), huge(n, 2), huge(n, 2), huge(n, 3)}
	_, _, ferr := e3smcases.F{}.Positions([]*decomp.Map{f}, 1)
	_, _, ierr := e3smcases.I{}.Positions([]*decomp.Map{i, i, i, i, i}, 1)
	_, _, gerr := e3smcases.G{}.Positions(g, 1)
	for _, err := range []error{ferr, ierr, gerr} {
		if !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("%v", err)
		}
	}
}

// TestMapsOfCase: the maps for the dimensions of a dataset are those of its sizes; a dataset of another shape has none.
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
		if name == "G" { // edges and vertices follow from the seed
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
