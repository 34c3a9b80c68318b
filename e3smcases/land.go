package e3smcases

import (
	_ "embed" // the coast lines
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables/land.txt
var landText string

// polygon is a land mass, given by its corners in degrees, closed.
type polygon struct {
	lon, lat     []float64
	south, north float64
	west, east   float64
	aroundPole   bool // reaches the south pole; its edge at -90 degrees is not a coast
	name         string
}

func parseLand(text string) ([]polygon, error) {
	var list []polygon
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(l, "\t")
		p := polygon{name: name, south: 90, north: -90, west: 360, east: -360}
		for pair := range strings.SplitSeq(rest, ",") {
			f := strings.Fields(pair)
			if len(f) != 2 {
				return nil, fmt.Errorf("coast of %s: %q, want a longitude and a latitude", name, pair)
			}
			lon, err1 := strconv.ParseFloat(f[0], 64)
			lat, err2 := strconv.ParseFloat(f[1], 64)
			if err1 != nil || err2 != nil {
				return nil, fmt.Errorf("coast of %s: %q, want a longitude and a latitude", name, pair)
			}
			p.lon, p.lat = append(p.lon, lon), append(p.lat, lat)
			p.south, p.north = min(p.south, lat), max(p.north, lat)
			p.west, p.east = min(p.west, lon), max(p.east, lon)
		}
		p.aroundPole = p.south <= -90
		list = append(list, p)
	}
	return list, nil
}

// height is a raster of the signed distance to the coast in degrees of arc, at whole degrees. It is positive on land.
type height struct {
	at [181 * 360]float32 // [lat+90][lon]
}

var coast = sync.OnceValues(func() (*height, error) {
	land, err := parseLand(landText)
	if err != nil {
		return nil, err
	}
	h := new(height)
	for i := range 181 {
		for j := range 360 {
			h.at[i*360+j] = float32(distance(land, float64(j), float64(i-90)))
		}
	}
	return h, nil
})

// distance returns the signed distance of a point to the nearest coast, in degrees. It computes on a flat map around the point,
// which is accurate enough near the coast.
func distance(land []polygon, lon, lat float64) float64 {
	best := 90.0
	inside := false
	scale := math.Max(math.Cos(lat*math.Pi/180), 0.02)
	for i := range land {
		p := &land[i]
		for _, x := range []float64{lon - 360, lon} {
			// Skip a land mass that is farther away than the best distance so far.
			dx := math.Max(math.Max(p.west-x, x-p.east), 0) * scale
			dy := math.Max(math.Max(p.south-lat, lat-p.north), 0)
			if dx > best || dy > best {
				continue
			}
			if p.contains(x, lat) {
				inside = true
			}
			best = math.Min(best, p.edge(x, lat, scale))
		}
	}
	if inside {
		return best
	}
	return -best
}

func (p *polygon) contains(lon, lat float64) bool {
	in := false
	for i, j := 0, len(p.lon)-1; i < len(p.lon); j, i = i, i+1 {
		if p.lat[i] > lat == (p.lat[j] > lat) {
			continue
		}
		if lon < (p.lon[j]-p.lon[i])*(lat-p.lat[i])/(p.lat[j]-p.lat[i])+p.lon[i] {
			in = !in
		}
	}
	return in || p.aroundPole && lat <= -89.99
}

// edge returns the distance to the nearest edge, with scaled longitudes.
func (p *polygon) edge(lon, lat, scale float64) float64 {
	best := math.Inf(1)
	for i, j := 0, len(p.lon)-1; i < len(p.lon); j, i = i, i+1 {
		if p.aroundPole && math.Abs(p.lon[i]) >= 180 && math.Abs(p.lon[j]) >= 180 {
			continue // the seam along the date line and the pole is not a coast
		}
		ax, ay := (p.lon[j]-lon)*scale, p.lat[j]-lat
		bx, by := (p.lon[i]-lon)*scale, p.lat[i]-lat
		dx, dy := bx-ax, by-ay
		t := 0.0
		if d := dx*dx + dy*dy; d > 0 {
			t = math.Min(1, math.Max(0, -(ax*dx+ay*dy)/d))
		}
		best = math.Min(best, math.Hypot(ax+t*dx, ay+t*dy))
	}
	return best
}

// terrain is the signed distance to the coast at any point, distorted by waves if the seed is not 0.
type terrain struct {
	h     *height
	waves []wave
}

type wave struct{ x, y, z, phase, amp float64 }

func newTerrain(seed int64) (*terrain, error) {
	h, err := coast()
	if err != nil {
		return nil, err
	}
	t := &terrain{h: h}
	if seed != 0 {
		r := rand.New(rand.NewPCG(uint64(seed), 0x6c616e64))
		for range 8 {
			k := 4 + 12*r.Float64()
			lon, z := 2*math.Pi*r.Float64(), 2*r.Float64()-1
			c := math.Sqrt(1 - z*z)
			t.waves = append(t.waves, wave{k * c * math.Cos(lon), k * c * math.Sin(lon), k * z, 2 * math.Pi * r.Float64(), 6 / k})
		}
	}
	return t, nil
}

// at returns the signed distance at a point (degrees): positive on land.
func (t *terrain) at(lon, lat float64) float64 {
	lon = math.Mod(lon, 360)
	if lon < 0 {
		lon += 360
	}
	y := math.Min(math.Max(lat+90, 0), 180)
	i, j := min(int(y), 179), min(int(lon), 359)
	fy, fx := y-float64(i), lon-float64(j)
	k := (j + 1) % 360
	a := float64(t.h.at[i*360+j])*(1-fx) + float64(t.h.at[i*360+k])*fx
	b := float64(t.h.at[(i+1)*360+j])*(1-fx) + float64(t.h.at[(i+1)*360+k])*fx
	v := a*(1-fy) + b*fy
	if len(t.waves) > 0 {
		s, c := math.Sincos(lon * math.Pi / 180)
		z, r := math.Sincos(lat * math.Pi / 180)
		for _, w := range t.waves {
			v += w.amp * math.Sin(w.x*r*c+w.y*r*s+w.z*z+w.phase)
		}
	}
	return math.Round(v*1024) / 1024 // rounded to be the same on every processor
}

// landMask returns the cells of an nlat x nlon grid that contain land, flattened, latitude slowest. Latitudes go from pole to
// pole, longitudes from 0E. As in ELM, a cell counts even if its centre is not on land. Seed 0 is a coarse Earth; other seeds
// distort the coast. The result is nil for an empty grid.
func landMask(nlat, nlon int, seed int64) []bool {
	if nlat < 1 || nlon < 1 {
		return nil
	}
	t, err := newTerrain(seed)
	if err != nil {
		return nil // cannot fail: the embedded coast is tested
	}
	lon, lat := coordsI(nlat, nlon)
	mask := make([]bool, nlat*nlon)
	half := 90 / float64(nlat) // half a cell, in degrees
	for i := range nlat {
		for j := range nlon {
			mask[i*nlon+j] = t.at(lon[j], lat[i]) > -half
		}
	}
	return mask
}
