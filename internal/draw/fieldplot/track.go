package fieldplot

import (
	"math"
	"slices"
)

// A track finds the cell of a coordinate along an axis of cells. Cell borders are halfway between coordinates.
type track struct {
	edges []float64 // ascending; one more edge than cells
	down  bool      // cells are numbered downwards
	turn  bool      // coordinates are periodic with one turn
}

// newTrack makes a track from monotonic coordinates in degrees. Longitudes may wrap from 359 to 0, or 180 to -180. ok is false
// for other coordinates.
func newTrack(v []float64, turn bool) (t *track, ok bool) {
	v = slices.Clone(v)
	if len(v) < 2 {
		return nil, false
	}
	t = &track{turn: turn}
	if v[len(v)-1] < v[0] && !turn || turn && v[1] < v[0] && v[0]-v[1] < 180 {
		t.down = true
		slices.Reverse(v)
	}
	for i := 1; i < len(v); i++ {
		if turn {
			for v[i] < v[i-1] && v[i-1]-v[i] > 180 {
				v[i] += 360
			}
		}
		if !(v[i] > v[i-1]) {
			return nil, false
		}
	}
	n := len(v)
	t.edges = append(t.edges, v[0]-(v[1]-v[0])/2)
	for i := 1; i < n; i++ {
		t.edges = append(t.edges, (v[i-1]+v[i])/2)
	}
	t.edges = append(t.edges, v[n-1]+(v[n-1]-v[n-2])/2)
	switch {
	case !turn: // latitudes end at the poles, and cells near a pole extend to it
		t.edges[0], t.edges[n] = max(t.edges[0], -90), min(t.edges[n], 90)
	case v[n-1]-v[0] > 360:
		return nil, false
	case t.edges[n]-t.edges[0] > 360: // all around, so the ends meet
		over := (t.edges[n] - t.edges[0] - 360) / 2
		t.edges[0], t.edges[n] = t.edges[0]+over, t.edges[n]-over
	}
	return t, true
}

// spread returns positions throughout the cells, at most a degree apart.
func (t *track) spread() (out []float32) {
	last := t.edges[len(t.edges)-1]
	for x := t.edges[0]; x < last; x++ {
		out = append(out, float32(x))
	}
	return append(out, float32(last))
}

// find returns the cell of a coordinate in degrees, or -1.
func (t *track) find(x float64) int {
	n := len(t.edges) - 1
	if t.turn {
		x = t.edges[0] + math.Mod(math.Mod(x-t.edges[0], 360)+360, 360)
	}
	if x < t.edges[0] || x > t.edges[n] {
		return -1
	}
	i, _ := slices.BinarySearch(t.edges, x)
	i = min(max(i-1, 0), n-1)
	if t.down {
		return n - 1 - i
	}
	return i
}
