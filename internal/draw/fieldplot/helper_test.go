package fieldplot

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cdf5/cdftest"
)

// column is a variable of a test file with all its values.
type column struct {
	name   string
	dims   []string
	atts   []cdf5.Att
	values any
	t      cdf5.Type
}

// atts makes text attributes.
func atts(pairs ...string) (out []cdf5.Att) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, cdf5.Att{Name: pairs[i], Type: cdf5.Char, Value: pairs[i+1]})
	}
	return out
}

// dataset makes an ordinary netCDF file with the given variables. A dimension of length 0 is the record dimension.
func dataset(t testing.TB, records int64, dims []cdf5.Dim, vars ...column) *Data {
	t.Helper()
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: records, Dims: dims}
	var values []any
	for _, c := range vars {
		if c.t == 0 {
			c.t = cdf5.Double
		}
		v := cdf5.Var{Name: c.name, Type: c.t, Atts: c.atts}
		for _, name := range c.dims {
			v.Dims = append(v.Dims, h.DimIndex(name))
		}
		h.Vars = append(h.Vars, v)
		values = append(values, c.values)
	}
	name := filepath.Join(t.TempDir(), "d.nc")
	if err := os.WriteFile(name, cdftest.Build(t, h, true, values...), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := blob.Open(context.Background(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &Data{Reader: r, ID: name}
}

// draw draws a picture, which must succeed.
func draw(t testing.TB, d *Data, o Options) *Picture {
	t.Helper()
	if o.Width == 0 {
		o.Width = 300
	}
	p, err := NewAtlas(0).Draw(t.Context(), d, &o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spots calls f with the spots of the picture on a lattice of points, except outside the data.
func spots(p *Picture, f func(x, y float64, s *Spot)) {
	w, h := p.Size()
	for y := 1.0; y < h; y += 11 {
		for x := 1.0; x < w; x += 11 {
			if s, ok := p.Spot(x, y); ok {
				f(x, y, s)
			}
		}
	}
}

// sphere returns n points spread evenly over the globe, in degrees.
func sphere(n int) (lon, lat []float64) {
	golden := math.Pi * (3 - math.Sqrt(5))
	for i := range n {
		lat = append(lat, math.Asin(1-2*(float64(i)+0.5)/float64(n))*180/math.Pi)
		lon = append(lon, math.Mod(float64(i)*golden*180/math.Pi, 360))
	}
	return lon, lat
}

// distance returns the angle between two positions in degrees.
func distance(lon0, lat0, lon1, lat1 float64) float64 {
	r := math.Pi / 180
	h := math.Pow(math.Sin((lat1-lat0)*r/2), 2) + math.Cos(lat0*r)*math.Cos(lat1*r)*math.Pow(math.Sin((lon1-lon0)*r/2), 2)
	return 2 * math.Asin(math.Min(1, math.Sqrt(h))) / r
}

// placeOf parses the position of a spot on a map.
func placeOf(t testing.TB, s *Spot) (lon, lat float64) {
	t.Helper()
	var ns, ew string
	if _, err := scan(s.Where, &lat, &ns, &lon, &ew); err != nil {
		t.Fatalf("%q: %v", s.Where, err)
	}
	if ns == "S" {
		lat = -lat
	}
	if ew == "W" {
		lon = -lon
	}
	return lon, lat
}
