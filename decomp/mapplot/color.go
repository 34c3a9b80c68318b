package mapplot

import (
	"image/color"
	"math"
)

var (
	colorPaper     = color.RGBA{255, 255, 255, 255}
	colorInk       = color.RGBA{34, 38, 44, 255}
	colorSoft      = color.RGBA{104, 110, 120, 255} // secondary text
	colorLine      = color.RGBA{188, 193, 200, 255} // frames and graticule
	colorUncovered = color.RGBA{196, 199, 203, 255} // elements that no rank owns
	colorNone      = color.RGBA{245, 245, 242, 255} // no elements here
)

// few is the number of ranks up to which each has an entry in the legend, and
// its colour is chosen to differ as much as possible from all others. With
// more ranks the hue follows the rank, so that a picture also tells high from
// low ranks, and lightness tells neighbours apart.
const few = 32

// oklch converts a colour of the OKLCH space, in which equal steps look equal,
// to sRGB, with less chroma where it does not fit. h is in degrees.
func oklch(l, c, h float64) color.RGBA {
	for {
		r, g, b, ok := oklab(l, c*math.Cos(h*math.Pi/180), c*math.Sin(h*math.Pi/180))
		if ok || c < 0.005 {
			return color.RGBA{r, g, b, 255}
		}
		c *= 0.94
	}
}

// oklab converts by the matrices of Björn Ottosson's definition of Oklab.
func oklab(l, a, b float64) (r8, g8, b8 uint8, ok bool) {
	l3 := l + 0.3963377774*a + 0.2158037573*b
	m3 := l - 0.1055613458*a - 0.0638541728*b
	s3 := l - 0.0894841775*a - 1.2914855480*b
	l3, m3, s3 = l3*l3*l3, m3*m3*m3, s3*s3*s3
	rgb := [3]float64{
		4.0767416621*l3 - 3.3077115913*m3 + 0.2309699292*s3,
		-1.2684380046*l3 + 2.6097574011*m3 - 0.3413193965*s3,
		-0.0041960863*l3 - 0.7034186147*m3 + 1.7076147010*s3,
	}
	ok = true
	var out [3]uint8
	for i, v := range rgb {
		if v < -1e-4 || v > 1+1e-4 {
			ok = false
		}
		v = min(max(v, 0), 1)
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		out[i] = uint8(math.Round(v * 255))
	}
	return out[0], out[1], out[2], ok
}

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
		out[r] = oklch(l, c, 300-260*t+[4]float64{-9, 11, 4, -4}[r%4])
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
				if r8, g8, b8, ok := oklab(l, a, b); ok {
					// lightness counts less than hue: areas of one hue look like one thing
					all = append(all, candidate{[3]float64{0.7 * l, a, b}, color.RGBA{r8, g8, b8, 255}, math.Inf(1)})
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

// darker returns the colour of a border between areas.
func darker(c color.RGBA) color.RGBA {
	f := func(v uint8) uint8 { return uint8(int(v) * 62 / 100) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 255}
}
