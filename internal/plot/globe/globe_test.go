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
