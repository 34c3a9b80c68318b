package globe

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 500} {
		lon, lat := make([]float32, n), make([]float32, n)
		for i := range lon {
			lon[i], lat[i] = float32(rng.IntN(40)*9), float32(rng.IntN(19)*10-90) // with repeats
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
	for _, v := range []*View{mollweide(0), mollweide(math.Pi), plate(-1, 2, -0.5, 1)} {
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
	if _, _, ok := mollweide(0).Inverse(0.01, 0.01); ok {
		t.Error("a corner is on the globe")
	}
}

// TestThinner: what is kept lies everywhere where points are, with the numbers they had.
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

// TestRegion: the box of points of a part of the globe, over any meridian; points all around have no box.
func TestRegion(t *testing.T) {
	for name, c := range map[string]struct {
		lon      []float32
		lat      float32
		regional bool
		west     float64
		east     float64
	}{
		"Europe":      {[]float32{350, 355, 0, 20, 40}, 50, true, -10, 40},
		"date line":   {[]float32{170, 175, -175, -170}, 0, true, 170, 190},
		"the Pacific": {[]float32{200, 210, 220}, 0, true, -160, -140},
		"globe":       {[]float32{0, 60, 120, 180, 240, 300}, 80, false, 0, 300},
	} {
		lat := make([]float32, len(c.lon))
		for i := range lat {
			lat[i] = c.lat * float32(2*i-len(lat)+1) / float32(len(lat))
		}
		b, regional := Region(c.lon, lat)
		if regional != c.regional || math.Abs(b.West-c.west) > 1e-3 || math.Abs(b.East-c.east) > 1e-3 {
			t.Errorf("%s: %+v, %v", name, b, regional)
		}
	}
}
