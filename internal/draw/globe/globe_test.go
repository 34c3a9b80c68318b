package globe

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"blobio/internal/draw/chart"
)

func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 500} {
		lon, lat := make([]float32, n), make([]float32, n)
		for i := range lon {
			lon[i], lat[i] = float32(rng.IntN(40)*9), float32(rng.IntN(19)*10-90) // some points repeat
		}
		tr, err := NewTree(t.Context(), lon, lat)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			p := onSphere(rng.Float64()*7-1, rng.Float64()*3-1.5)
			best := math.Inf(1)
			for _, q := range tr.at {
				best = min(best, dist2(p, q))
			}
			if _, d := tr.nearest(p, rng.IntN(n)); d != best {
				t.Fatalf("%d points: nearest at %v, want %v", n, d, best)
			}
		}
	}
}

func TestProjections(t *testing.T) {
	for _, v := range []*View{mollweide(), flat(-1, 2, -0.5, 1)} {
		for i := 1; i < 20; i++ {
			for j := 1; j < 20; j++ {
				lon := v.west + (v.east-v.west)*float64(i)/20
				lat := v.south + (v.north-v.south)*float64(j)/20
				x, y := v.Forward(lon, lat)
				gotLon, gotLat, ok := v.Inverse(x, y)
				if !ok || math.Abs(gotLon-lon) > 1e-6 || math.Abs(gotLat-lat) > 1e-6 || x < 0 || x > 1 || y < 0 || y > 1 {
					t.Fatalf("%v, %v went to %v, %v and came back as %v, %v, %v", lon, lat, x, y, gotLon, gotLat, ok)
				}
			}
		}
	}
	if _, _, ok := mollweide().Inverse(0.01, 0.01); ok {
		t.Error("a corner is on the globe")
	}
}

// TestThinner checks that the kept points cover all regions with points, and keep their indices.
func TestThinner(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	th := NewThinner(2000)
	const n = 100_000
	lon, lat := make([]float32, n), make([]float32, n)
	for i := range n {
		lon[i], lat[i] = float32(rng.Float64()*720-360), float32(math.Asin(rng.Float64()*2-1)*180/math.Pi)
		th.Add(int32(i), lon[i], lat[i])
	}
	x, y, id := th.Points()
	if len(id) < 1900 || len(id) > 2100 {
		t.Fatalf("%d points", len(id))
	}
	for k, i := range id {
		if x[k] != lon[i] || y[k] != lat[i] {
			t.Fatalf("point %d moved", i)
		}
	}
	tr, err := NewTree(t.Context(), x, y)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, d := tr.nearest(onSphere(float64(lon[i])*math.Pi/180, float64(lat[i])*math.Pi/180), 0); d > 0.2*0.2 {
			t.Fatalf("nothing is kept near %v, %v", lon[i], lat[i])
		}
	}
}

// TestRegion checks the box of points in a part of the globe, across any meridian. Points all around the globe have no box.
func TestRegion(t *testing.T) {
	for name, c := range map[string]struct {
		lon      []float32
		lat      float32
		regional bool
		west     float64
		east     float64
	}{
		"Europe":      {[]float32{350, 355, 0, 20, 40}, 50, true, -10, 40},
		"date line":   {[]float32{170, 175, -175, -170}, 20, true, 170, 190},
		"the Pacific": {[]float32{200, 210, 220}, 20, true, -160, -140},
		"globe":       {lon: []float32{0, 60, 120, 180, 240, 300}, lat: 80},
		"a meridian":  {lon: []float32{10, 10, 10}, lat: 80},
	} {
		lat := make([]float32, len(c.lon))
		for i := range lat {
			lat[i] = c.lat * float32(2*i-len(lat)+1) / float32(len(lat))
		}
		b, regional := region(c.lon, lat)
		if regional != c.regional || regional && (math.Abs(b.west-c.west) > 1e-3 || math.Abs(b.east-c.east) > 1e-3) {
			t.Errorf("%s: %+v, %v", name, b, regional)
		}
	}
}

// TestCoasts checks that known capes are on a coast, and that lines across the date line do not cross the map.
func TestCoasts(t *testing.T) {
	for name, p := range map[string][2]float64{"Cape Agulhas": {20, -34.8}, "Cape Horn": {-67.3, -55.9}, "Tarifa": {-5.6, 36}, "Cape York": {142.5, -10.7}, "Cape Dezhnev": {-169.7, 66.1}, "Iceland": {-22.7, 63.8}, "Ross Island": {168, -77.5}} {
		best := math.Inf(1)
		for _, line := range coasts() {
			for _, q := range line {
				best = min(best, dist2(onSphere(p[0]*degree, p[1]*degree), onSphere(q[0], q[1])))
			}
		}
		if math.Sqrt(best)/degree > 1.5 {
			t.Errorf("%s is %v degrees from any coast", name, math.Sqrt(best)/degree)
		}
	}
	for name, v := range map[string]*View{"globe": mollweide(), "plate": NewView([]float32{0, 90, 180, 270}, []float32{-80, 80}, true), "Pacific": NewView([]float32{150, 190, 240}, []float32{-60, 60}, false)} {
		points := 0
		for _, line := range v.coast(v.at(chart.Box(10, 20, 600, 600/v.Wide))) {
			for i, p := range line {
				if points++; p[0] < 10-1e-3 || p[0] > 610+1e-3 || p[1] < 20-1e-3 || p[1] > 20+600/v.Wide+1e-3 {
					t.Fatalf("%s: %v is beside the map", name, p)
				}
				if i > 0 && math.Hypot(p[0]-line[i-1][0], p[1]-line[i-1][1]) > 60 {
					t.Fatalf("%s: from %v to %v", name, line[i-1], p)
				}
			}
		}
		if points < 500 {
			t.Errorf("%s: %d points", name, points)
		}
	}
}

// TestDegrees checks that lines are at round degrees with their directions, also in a region across the date line.
func TestDegrees(t *testing.T) {
	const wide = 624
	for want, v := range map[string]*View{
		"180° 150°W 120°W 90°W 60°W 30°W 0° 30°E 60°E 90°E 120°E 150°E 180°": mollweide(),
		"160°E 170°E 180° 170°W 160°W 150°W 140°W":                           flat(155*degree, 225*degree, -20*degree, 20*degree),
		"3°W 2.5°W 2°W 1.5°W 1°W 0.5°W 0° 0.5°E 1°E 1.5°E 2°E 2.5°E 3°E":     flat(-3*degree, 3*degree, 0, degree),
	} {
		var got []string
		for lon := range multiples(v.west, v.east, v.step(wide)) {
			got = append(got, meridian(lon))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
