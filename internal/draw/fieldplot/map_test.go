package fieldplot

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
)

func scan(where string, lat *float64, ns *string, lon *float64, ew *string) (int, error) {
	return fmt.Sscanf(strings.NewReplacer("°", " ", ",", " ").Replace(where), "%f %s %f %s", lat, ns, lon, ew)
}

// columns makes a dataset of n columns, two levels and two records. Each value encodes record, level and column.
func columns(t testing.TB, n int, latAtts, lonAtts []cdf5.Att, factor float64, names ...string) *Data {
	lon, lat := sphere(n)
	x, y := slices.Clone(lon), slices.Clone(lat)
	for i := range x {
		x[i], y[i] = lon[i]*factor, lat[i]*factor
	}
	var v []float64
	for rec := range 2 {
		for lev := range 2 {
			for i := range n {
				v = append(v, float64(1_000_000*rec+100_000*lev+i))
			}
		}
	}
	return dataset(t, 2, []cdf5.Dim{{Name: "time"}, {Name: "lev", Len: 2}, {Name: "ncells", Len: int64(n)}},
		column{name: names[0], dims: []string{"ncells"}, atts: latAtts, values: y},
		column{name: names[1], dims: []string{"ncells"}, atts: lonAtts, values: x},
		column{name: "lev", dims: []string{"lev"}, atts: atts("units", "hPa", "positive", "down"), values: []float64{100, 850}},
		column{name: "T", dims: []string{"time", "lev", "ncells"}, atts: atts("units", "K", "long_name", "temperature"), values: v})
}

// TestColumns checks that each point of a map shows the nearest column, for the selected record and level.
func TestColumns(t *testing.T) {
	const n = 500
	lon, lat := sphere(n)
	north, east := atts("units", "degrees_north"), atts("units", "degrees_east")
	for name, d := range crashtest.SomeOf(t, 2, map[string]*Data{
		"degrees":   columns(t, n, north, east, 1, "lat", "lon"),
		"MPAS":      columns(t, n, nil, nil, math.Pi/180, "latCell", "lonCell"),
		"rad":       columns(t, n, atts("units", "radians"), atts("units", "radians"), math.Pi/180, "grid_center_lat", "grid_center_lon"),
		"by unit":   columns(t, n, north, east, 1, "y", "x"),
		"standard":  columns(t, n, atts("standard_name", "latitude"), atts("standard_name", "longitude"), 1, "a", "b"),
		"E3SM, _d_": columns(t, n, north, east, 1, "lat_d", "lon_d"),
	}) {
		for _, plate := range []bool{false, true} {
			p := draw(t, d, Options{Var: "T", At: map[string]int64{"time": 1, "lev": 1}, Plate: plate})
			if p.Kind != Map {
				t.Fatalf("%s: %s", name, p.Kind)
			}
			seen := 0
			spots(p, func(_, _ float64, s *Spot) {
				x, y := placeOf(t, s)
				best, at := math.Inf(1), 0
				for i := range n {
					if a := distance(x, y, lon[i], lat[i]); a < best {
						best, at = a, i
					}
				}
				got := int(s.Value) - 1_100_000
				if got != at && distance(x, y, lon[got], lat[got]) > best+0.03 || s.State != Good {
					t.Fatalf("%s: at %s stands column %d (%v), want %d", name, s.Where, got, s.State, at)
				}
				if want := []Index{{"time", 1}, {"lev", 1}, {"ncells", int64(got)}}; !slices.Equal(s.Index, want) {
					t.Fatalf("%s: element %v, want %v", name, s.Index, want)
				}
				seen++
			})
			if seen < 120 {
				t.Errorf("%s: %d points", name, seen)
			}
		}
	}
}

// TestLevelsFastest checks that the map is the same if levels vary fastest, as in MPAS.
func TestLevelsFastest(t *testing.T) {
	const n, levels = 400, 3
	lon, lat := sphere(n)
	var v []float64
	for i := range n {
		for k := range levels {
			v = append(v, float64(k*1000+i))
		}
	}
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}, {Name: "nVertLevels", Len: levels}},
		column{name: "latCell", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: lat},
		column{name: "lonCell", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: lon},
		column{name: "v", dims: []string{"n", "nVertLevels"}, values: v})
	p := draw(t, d, Options{Var: "v", At: map[string]int64{"nVertLevels": 2}})
	spots(p, func(_, _ float64, s *Spot) {
		if i := s.Index[0].At; s.Value != float64(2000+i) {
			t.Fatalf("element %v has %v", s.Index, s.Value)
		}
	})
}

// TestCurvilinear checks two-dimensional coordinates, where some elements have no position.
func TestCurvilinear(t *testing.T) {
	const rows, cols = 30, 40
	var lat, lon, v []float64
	for j := range rows {
		for i := range cols {
			lat, lon, v = append(lat, -85+170*float64(j)/(rows-1)), append(lon, 360*float64(i)/cols), append(v, float64(j*cols+i))
			if j == 0 && i < 10 || j == 20 {
				lat[len(lat)-1], lon[len(lon)-1] = 1e20, 1e20
			}
		}
	}
	d := dataset(t, 0, []cdf5.Dim{{Name: "nj", Len: rows}, {Name: "ni", Len: cols}},
		column{name: "TLAT", dims: []string{"nj", "ni"}, atts: atts("units", "degrees_north"), values: lat},
		column{name: "TLONG", dims: []string{"nj", "ni"}, atts: atts("units", "degrees_east"), values: lon},
		column{name: "v", dims: []string{"nj", "ni"}, atts: atts("coordinates", "TLAT TLONG"), values: v})
	spots(draw(t, d, Options{Var: "v"}), func(_, _ float64, s *Spot) {
		if s.State == Nothing {
			return
		}
		k := s.Index[0].At*cols + s.Index[1].At
		x, y := placeOf(t, s)
		if s.Value != float64(k) || distance(x, y, lon[k], lat[k]) > 13 || s.Index[0].At == 20 {
			t.Fatalf("%s: element %v with %v", s.Where, s.Index, s.Value)
		}
	})
}

// TestPairs checks that the attribute "coordinates" selects among several coordinates.
func TestPairs(t *testing.T) {
	const n = 60
	lon, lat := sphere(n)
	other := slices.Clone(lat)
	slices.Reverse(other)
	north, east := atts("units", "degrees_north"), atts("units", "degrees_east")
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}},
		column{name: "ulat", dims: []string{"n"}, atts: north, values: other}, column{name: "ulon", dims: []string{"n"}, atts: east, values: lon},
		column{name: "tlat", dims: []string{"n"}, atts: north, values: lat}, column{name: "tlon", dims: []string{"n"}, atts: east, values: lon},
		column{name: "v", dims: []string{"n"}, atts: atts("coordinates", "tlon tlat"), values: lat},
		column{name: "w", dims: []string{"n"}, values: other})
	for name, want := range map[string]string{"v": "tlat", "w": "ulat"} {
		p, err := newPlan(d, &Options{Var: name}, true)
		if err != nil || p.site.lat != want || p.site.lon != strings.Replace(want, "lat", "lon", 1) {
			t.Errorf("%s: %+v, %v", name, p.site, err)
		}
	}
}

// TestNoValue checks that fill values from any attribute, and NaN, are grey and without a value. The other values determine the
// colour range.
func TestNoValue(t *testing.T) {
	const n = 50
	lon, lat := sphere(n)
	v := make([]float32, n)
	for i := range v {
		v[i] = float32([]float64{5, 1e20, math.NaN(), -3, 9, 7}[i%6])
	}
	f := append(atts("units", "m"), cdf5.Att{Name: "_FillValue", Type: cdf5.Float, Value: []float32{1e20}}, cdf5.Att{Name: "missing_value", Type: cdf5.Double, Value: []float64{-3}})
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}}, column{name: "lat", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: lat},
		column{name: "lon", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: lon}, column{name: "v", dims: []string{"n"}, atts: f, values: v, t: cdf5.Float})
	p := draw(t, d, Options{Var: "v"})
	states := map[State]int{}
	spots(p, func(_, _ float64, s *Spot) {
		want := []State{Good, Fill, NaN, Fill, Good, Good}[s.Index[0].At%6]
		if states[s.State]++; s.State != want {
			t.Fatalf("element %v is %s, want %s", s.Index, s.State, want)
		}
	})
	if states[Fill] == 0 || states[NaN] == 0 {
		t.Error(states)
	}
	plan, err := newPlan(d, &Options{Var: "v"}, true)
	if err != nil {
		t.Fatal(err)
	}
	st := newStats()
	if err := plan.each(t.Context(), []string{"n"}, func(_ int64, x []float64) error { st.add(x); return nil }); err != nil {
		t.Fatal(err)
	}
	if st.lo != 5 || st.hi != 9 || st.n != n || st.fill != 17 || st.nan != 8 {
		t.Errorf("%+v", st)
	}
	// Value must read the element itself
	a := NewAtlas(0)
	s, ok, err := a.Value(t.Context(), d, &Options{Var: "v", Width: 300}, 150, 110)
	if err != nil || !ok || s.Index == nil {
		t.Fatal(s, ok, err)
	}
}

// TestRegion checks that points in a part of the globe are drawn as a box, also across the Greenwich meridian.
func TestRegion(t *testing.T) {
	var lon, lat, v []float64
	for j := range 20 {
		for i := range 20 {
			lon, lat, v = append(lon, math.Mod(350+float64(i)+360, 360)), append(lat, 40+float64(j)), append(v, float64(i))
		}
	}
	d := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: 400}}, column{name: "lat", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: lat},
		column{name: "lon", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: lon}, column{name: "v", dims: []string{"n"}, values: v})
	last, elements := math.Inf(-1), 0
	p := draw(t, d, Options{Var: "v"})
	_, h := p.Size()
	for x := 25.0; x < 275; x += 3 {
		if s, ok := p.Spot(x, h/2-20); ok && s.State == Good {
			if s.Value < last {
				t.Fatalf("%v behind %v", s.Value, last)
			}
			last = s.Value
			elements++
		}
	}
	if last != 19 || elements < 50 {
		t.Errorf("to %v, %d points", last, elements)
	}
}

// TestNowhere checks the errors for invalid or missing coordinates.
func TestNowhere(t *testing.T) {
	const n = 500
	v := make([]float64, n)
	far := make([]float64, n)
	for i := range v {
		v[i], far[i] = float64(i), 1e15
	}
	bad := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}}, column{name: "lat", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: far},
		column{name: "lon", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: far}, column{name: "v", dims: []string{"n"}, values: v})
	none := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}}, column{name: "v", dims: []string{"n"}, values: v})
	for want, d := range map[string]*Data{"lat and lon are not positions": bad, "no coordinates along n": none} {
		p := draw(t, d, Options{Var: "v"})
		if p.Kind != Histogram || !strings.Contains(strings.Join(p.Notes, " "), want) {
			t.Errorf("%s: %s %q", want, p.Kind, p.Notes)
		}
		if _, err := NewAtlas(0).Draw(t.Context(), d, &Options{Var: "v", Kind: Map}); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// coordinates of another dataset
	lon, lat := sphere(n)
	mesh := dataset(t, 0, []cdf5.Dim{{Name: "n", Len: n}}, column{name: "lat", dims: []string{"n"}, atts: atts("units", "degrees_north"), values: lat},
		column{name: "lon", dims: []string{"n"}, atts: atts("units", "degrees_east"), values: lon})
	if p := draw(t, none, Options{Var: "v", Coords: mesh}); p.Kind != Map {
		t.Errorf("with coordinates: %s", p.Kind)
	}
}

// TestForms checks that both formats are complete and reproducible, also on dark paper.
func TestForms(t *testing.T) {
	d := columns(t, 80, atts("units", "degrees_north"), atts("units", "degrees_east"), 1, "lat", "lon")
	for _, o := range crashtest.Some(t, 3, []Options{{Var: "T"}, {Var: "T", Dark: true}, {Var: "T", Kind: Section}, {Var: "T", Kind: Line, X: "lev", Dark: true}, {Var: "T", Kind: Histogram}, {Var: "T", Log: true, Colors: "grey"}}) {
		p := draw(t, d, o)
		var b, again, svg bytes.Buffer
		if err := errors.Join(p.PNG(&b), draw(t, d, o).PNG(&again), p.SVG(&svg)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%+v: two pictures differ", o)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		r, _, _, _ := img.At(2, 2).RGBA()
		if (r>>8 < 60) != o.Dark {
			t.Errorf("%+v: paper %d", o, r>>8)
		}
		for x := xml.NewDecoder(&svg); ; {
			if _, err := x.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCancelled checks that a cancelled call draws nothing, and that the next call does not get a broken picture from the
// cache.
func TestCancelled(t *testing.T) {
	d := columns(t, 80, atts("units", "degrees_north"), atts("units", "degrees_east"), 1, "lat", "lon")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	a := NewAtlas(0)
	if _, err := a.Draw(ctx, d, &Options{Var: "T"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p, err := a.Draw(t.Context(), d, &Options{Var: "T"}); err != nil || p.Kind != Map {
		t.Error(p, err)
	}
}

// TestCentre checks that one field gives the same map on axes, on two-dimensional coordinates and on columns. Axes may have any
// direction, order and first longitude. Greenwich is in the middle, west is left, north is up.
func TestCentre(t *testing.T) {
	const rows, cols = 18, 36
	north, east := atts("units", "degrees_north"), atts("units", "degrees_east")
	value := func(lat, lon float64) float64 { return 1000*lat + math.Mod(lon+540, 360) } // encodes the position
	for west, top := range map[float64]float64{0: 85, -180: -85, -90: 85, 90: -85} {
		var lats, lons, y, x, v, turned []float64
		for j := range rows {
			lats = append(lats, top-top/85*10*float64(j))
		}
		for i := range cols {
			lon := west + 5 + 10*float64(i)
			if west == 90 {
				lon = math.Mod(lon, 360)
			}
			lons = append(lons, lon)
			for _, lat := range lats {
				turned = append(turned, value(lat, lon))
			}
		}
		for _, lat := range lats {
			for _, lon := range lons {
				y, x, v = append(y, lat), append(x, lon), append(v, value(lat, lon))
			}
		}
		grid := []cdf5.Dim{{Name: "lat", Len: rows}, {Name: "lon", Len: cols}, {Name: "n", Len: rows * cols}}
		axes := func(v []float64, dims ...string) *Data {
			return dataset(t, 0, grid, column{name: "lat", dims: []string{"lat"}, atts: north, values: lats}, column{name: "lon", dims: []string{"lon"}, atts: east, values: lons}, column{name: "v", dims: dims, values: v})
		}
		points := func(dims ...string) *Data {
			return dataset(t, 0, grid, column{name: "y", dims: dims, atts: north, values: y}, column{name: "x", dims: dims, atts: east, values: x}, column{name: "v", dims: dims, values: v})
		}
		for name, d := range crashtest.SomeOf(t, 2, map[string]*Data{"axes": axes(v, "lat", "lon"), "turned axes": axes(turned, "lon", "lat"), "curvilinear": points("lat", "lon"), "columns": points("n")}) {
			for _, plate := range []bool{false, true} {
				p := draw(t, d, Options{Var: "v", Plate: plate, Width: 372}) // the map is 300 points wide and begins at 36
				up := 0.0
				for _, ok := p.Spot(186, up); !ok; _, ok = p.Spot(186, up) {
					up++
				}
				for i := range cols {
					lon := -175 + 10*float64(i)
					for _, lat := range []float64{5, -5} { // near the equator both projections agree
						s, ok := p.Spot(36+(lon+180)/360*300, up+75-0.4*lat)
						if !ok || s.Value != value(lat, lon) {
							t.Fatalf("%s from %v, plate %v: at %v, %v stands %+v, want %v", name, west, plate, lat, lon, s, value(lat, lon))
						}
					}
				}
			}
		}
	}
}

// TestGenerated checks that coordinates are generated on request, from the lengths of the grid dimensions alone.
func TestGenerated(t *testing.T) {
	v := make([]float64, 56)
	d := dataset(t, 0, []cdf5.Dim{{Name: "ncol", Len: 56}, {Name: "n", Len: 5}}, column{name: "v", dims: []string{"ncol"}, values: v}, column{name: "w", dims: []string{"n"}, values: v[:5]})
	if p := draw(t, d, Options{Var: "v"}); p.Kind == Map {
		t.Error("a map without coordinates")
	}
	if p := draw(t, d, Options{Var: "v", Generated: true}); p.Kind != Map || !strings.Contains(strings.Join(p.Notes, " "), "Generated coordinates") {
		t.Errorf("%s %q", p.Kind, p.Notes)
	}
	if _, err := NewAtlas(0).Draw(t.Context(), d, &Options{Var: "w", Generated: true}); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
}
