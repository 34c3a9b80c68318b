package e3smcases

import (
	"fmt"
	"math"

	"blobio/decomp"
)

// landLevels holds the levels of the I case: the slowest dimension of D2 to D5, as captured.
var landLevels = []int{15, 10, 9, 17} // levgrnd, levlak, ltype, natpft

// segments is the number of pieces of land cells per rank in ELM: nsegspc 20 for each of the 2 clumps of a process in the
// captured map.
const segments = 40

// I describes the maps of the I case.
type I struct {
	Lat, Lon int   // grid points: latitudes from pole to pole, longitudes from 0E
	Levels   []int // slowest dimension of D2, D3, D4, D5; nil is 15, 10, 9, 17
	Ranks    int
	Seed     int64  // 0: the plain coast; other seeds distort the coast slightly
	Mask     []bool // land, [lat][lon] flattened; nil is a coast made from Seed
}

func (g I) check() error {
	switch {
	case g.Lat < 2 || g.Lon < 1 || int64(g.Lat)*int64(g.Lon) > math.MaxInt32:
		return fmt.Errorf("I: grid %d x %d, want at least 2 x 1 and at most 2^31-1 cells", g.Lat, g.Lon)
	case len(g.Levels) != len(landLevels):
		return fmt.Errorf("I: %d level counts, want %d", len(g.Levels), len(landLevels))
	case g.Ranks < 1 || g.Ranks > decomp.MaxRanks:
		return fmt.Errorf("I: %d ranks, want 1 to %d", g.Ranks, decomp.MaxRanks)
	case len(g.Mask) != g.Lat*g.Lon:
		return fmt.Errorf("I: mask has %d cells, want %d", len(g.Mask), g.Lat*g.Lon)
	}
	for _, l := range g.Levels {
		if l < 1 {
			return fmt.Errorf("I: %d levels, want >= 1", l)
		}
	}
	return nil
}

// Maps returns D1 to D5, sorted and merged.
func (g I) Maps() ([]*decomp.Map, error) {
	if g.Levels == nil {
		g.Levels = landLevels
	}
	if g.Mask == nil && g.Lat >= 2 && g.Lon >= 1 && int64(g.Lat)*int64(g.Lon) <= math.MaxInt32 {
		g.Mask = landMask(g.Lat, g.Lon, g.Seed)
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	owner := g.deal()
	size := int64(len(owner))
	b := []*decomp.Builder{decomp.NewBuilder([]int64{int64(g.Lat), int64(g.Lon)}, g.Ranks)}
	for _, l := range g.Levels {
		b = append(b, decomp.NewBuilder([]int64{int64(l), int64(g.Lat), int64(g.Lon)}, g.Ranks))
	}
	lists := newLists(owner, g.Ranks)
	var flat, deep []decomp.Req
	for r := range g.Ranks {
		flat = flat[:0]
		for _, cell := range lists.of(r) {
			flat = append(flat, decomp.Req{Offset: int64(cell), Length: 1})
		}
		flat = decomp.SortCoalesce(flat, int64(g.Lon))
		if err := b[0].Set(r, flat); err != nil {
			return nil, err
		}
		for k, l := range g.Levels {
			deep = appendLevels(deep[:0], flat, l, size)
			if err := b[k+1].Set(r, deep); err != nil {
				return nil, err
			}
		}
	}
	maps := make([]*decomp.Map, len(b))
	for k := range b {
		var err error
		if maps[k], err = b[k].Map(); err != nil {
			return nil, err
		}
	}
	return maps, nil
}

// deal returns the rank of each cell, -1 without land. As in ELM (decompInitMod), the land cells in grid order are cut into
// segments of nearly equal length, 40 for each rank. The segments are assigned to the ranks round robin.
func (g I) deal() []int32 {
	land := 0
	for _, l := range g.Mask {
		if l {
			land++
		}
	}
	parts := int64(segments) * int64(g.Ranks)
	owner := make([]int32, len(g.Mask))
	n := int64(0)
	for i, l := range g.Mask {
		if !l {
			owner[i] = -1
			continue
		}
		if int64(land) < parts { // fewer cells than segments: one cell for each segment
			owner[i] = int32(n % int64(g.Ranks))
		} else {
			owner[i] = int32(n * parts / int64(land) % int64(g.Ranks))
		}
		n++
	}
	return owner
}

// coordsI returns the axes of the I case's grid, in degrees: longitudes from 0
// eastward, latitudes from pole to pole.
func coordsI(nlat, nlon int) (lon, lat []float64) {
	lon, lat = make([]float64, max(nlon, 0)), make([]float64, max(nlat, 0))
	for i := range lon {
		lon[i] = float64(i) * 360 / float64(nlon)
	}
	for i := range lat {
		lat[i] = -90
		if nlat > 1 {
			lat[i] += float64(i) * 180 / float64(nlat-1)
		}
	}
	return lon, lat
}
