package mapplot

import (
	"image/color"
	"math"

	"blobio/internal/chart"
)

var (
	colorUncovered = color.RGBA{196, 199, 203, 255} // elements that no rank owns
	colorNone      = color.RGBA{245, 245, 242, 255} // no elements here
)

// few is the number of ranks up to which each has an entry in the legend, and
// its colour is chosen to differ as much as possible from all others. With
// more ranks the hue follows the rank, so that a picture also tells high from
// low ranks, and lightness tells neighbours apart.
const few = 32

// palette returns the colours of ranks.
func palette(ranks int) []color.RGBA {
	if ranks <= few {
		return distinct(ranks)
	}
	out := make([]color.RGBA, ranks)
	for r := range out {
		t := float64(r) / float64(ranks-1)
		l := 0.50 + 0.34*t + [4]float64{-0.07, 0.05, -0.02, 0.09}[r%4]
		c := [4]float64{0.14, 0.11, 0.16, 0.09}[r%4]
		out[r] = chart.Fit(l, c, 300-260*t+[4]float64{-9, 11, 4, -4}[r%4], 0.94)
	}
	return out
}

// distinct returns n colours, each as far as possible from those before it and
// from the greys, by the distance in Oklab.
func distinct(n int) []color.RGBA {
	type candidate struct {
		lab  [3]float64
		c    color.RGBA
		near float64 // squared distance to the nearest colour taken
	}
	var all []candidate
	for _, l := range []float64{0.50, 0.58, 0.66, 0.74, 0.82, 0.89} {
		for _, c := range []float64{0.07, 0.11, 0.15} {
			if l > 0.8 && c > 0.12 {
				continue // neon
			}
			for h := 0.0; h < 360; h += 12 {
				a, b := c*math.Cos(h*math.Pi/180), c*math.Sin(h*math.Pi/180)
				if rgb, fits := chart.Oklab(l, a, b); fits {
					// lightness counts less than hue: areas of one hue look like one thing
					all = append(all, candidate{[3]float64{0.7 * l, a, b}, rgb, math.Inf(1)})
				}
			}
		}
	}
	take := func(lab [3]float64) {
		for i := range all {
			d := 0.0
			for k := range lab {
				d += (all[i].lab[k] - lab[k]) * (all[i].lab[k] - lab[k])
			}
			all[i].near = min(all[i].near, d)
		}
	}
	for _, l := range []float64{0.3, 0.83, 0.97} { // borders, elements without an owner, paper
		take([3]float64{0.7 * l, 0, 0})
	}
	out := make([]color.RGBA, n)
	for r := range out {
		best := 0
		for i := range all {
			if all[i].near > all[best].near {
				best = i
			}
		}
		out[r] = all[best].c
		take(all[best].lab)
	}
	return out
}

// border is the colour of a border between areas.
func border(c color.RGBA) color.RGBA { return chart.Darker(c, 0.62) }
