package chart

import (
	"image/color"
	"math"
	"testing"
)

// far returns the Oklab distance of two colours for a kind of vision (looks).
func far(a, b color.RGBA, sight int) float64 {
	x, y := look(a)[sight], look(b)[sight]
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// Adjacent colours must differ from each other for all kinds of vision, and from the paper.
func TestColorsApart(t *testing.T) {
	check := func(name string, list []color.RGBA, least [3]float64) {
		t.Helper()
		for i := range list {
			for k, want := range least {
				if d := far(list[i], Paper, k); d < want {
					t.Errorf("%s: %d looks like paper to sight %d: %.3f, want %v", name, i, k, d, want)
				}
				for j := range i {
					if d := far(list[i], list[j], k); d < want {
						t.Errorf("%s: %d and %d look alike to sight %d: %.3f, want %v", name, j, i, k, d, want)
					}
				}
			}
		}
	}
	check("four", Colors(4, 0.5), [3]float64{0.15, 0.085, 0.085})
	check("ten", Colors(10, 0.5), [3]float64{0.09, 0.07, 0.07})
	check("few", Colors(Few, 0.5), [3]float64{0.05, 0.025, 0.025})
	check("few pale ones", Colors(Few, 0.72), [3]float64{0.03, 0.01, 0.01})
	check("shades", Shades(6), [3]float64{0.04, 0.04, 0.04})
	for _, n := range []int{Few + 1, 1000, 21600} { // neighbours
		c := Colors(n, 0.5)
		for i := 1; i < n; i++ {
			for k := range 3 {
				if d := far(c[i-1], c[i], k); d < 0.03 {
					t.Fatalf("%d colours: %d and %d look alike to sight %d: %.3f", n, i-1, i, k, d)
				}
			}
		}
	}
	for n := range 3 {
		if len(Colors(n, 0.5)) != n || len(Shades(n)) != n {
			t.Errorf("not %d colours", n)
		}
	}
}

// Grey must look grey to all viewers. Red and green must look more alike to viewers with red-green
// deficiency.
func TestSights(t *testing.T) {
	for k := range 3 {
		if g := look(color.RGBA{128, 128, 128, 255})[k]; math.Abs(g[0]-0.5999) > 1e-3 || math.Hypot(g[1], g[2]) > 1e-3 {
			t.Errorf("grey to sight %d: %v", k, g)
		}
	}
	r, g := color.RGBA{190, 40, 40, 255}, color.RGBA{90, 120, 30, 255}
	for k := 1; k < 3; k++ {
		if far(r, g, k) > 0.6*far(r, g, 0) {
			t.Errorf("red and green to sight %d: %.3f, to others %.3f", k, far(r, g, k), far(r, g, 0))
		}
	}
}
