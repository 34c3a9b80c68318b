package amrplot

import (
	"image/color"
	"math"
)

var (
	colorPaper = color.RGBA{255, 255, 255, 255}
	colorInk   = color.RGBA{34, 38, 44, 255}
	colorSoft  = color.RGBA{104, 110, 120, 255} // secondary text
	colorLine  = color.RGBA{188, 193, 200, 255} // frames
	colorNone  = color.RGBA{240, 241, 243, 255} // where there are no blocks
	colorNil   = color.RGBA{205, 208, 212, 255} // blocks of no owner
	colorCurve = color.NRGBA{24, 26, 32, 215}
	colorFaint = color.NRGBA{24, 26, 32, 120} // the curve where blocks are small
	colorJump  = color.NRGBA{24, 26, 32, 70}
	colorStart = color.RGBA{22, 130, 62, 255}
	colorEnd   = color.RGBA{190, 24, 44, 255}
)

// few is the number of owners up to which each has an entry in the legend, and
// its colour differs much from that of the next ones. Of more, the hue follows
// the number, so that a picture tells high from low ones.
const few = 32

// levels returns colours of n levels, from pale for the coarsest to dark for the finest.
func levels(n int) []color.RGBA {
	out := make([]color.RGBA, n)
	for i := range out {
		t := 0.5
		if n > 1 {
			t = float64(i) / float64(n-1)
		}
		out[i] = oklch(0.94-0.30*t, 0.05+0.08*t, 105+165*t)
	}
	return out
}

// owners returns colours of n owners or files.
func owners(n int) []color.RGBA {
	const goldenAngle = 137.508
	out := make([]color.RGBA, n)
	for i := range out {
		if n <= few {
			out[i] = oklch([3]float64{0.78, 0.86, 0.70}[i%3], [3]float64{0.12, 0.095, 0.125}[i%3], 250+goldenAngle*float64(i))
			continue
		}
		t := float64(i) / float64(n-1)
		l := 0.58 + 0.28*t + [4]float64{-0.06, 0.05, -0.02, 0.08}[i%4]
		out[i] = oklch(l, [4]float64{0.13, 0.10, 0.15, 0.09}[i%4], 300-260*t+[4]float64{-9, 11, 4, -4}[i%4])
	}
	return out
}

// oklch converts a colour given by lightness, chroma and hue (degrees) in Oklab to
// sRGB, with less chroma where it does not fit.
func oklch(l, c, h float64) color.RGBA {
	sin, cos := math.Sincos(h * math.Pi / 180)
	for ; ; c *= 0.95 {
		rgb := linear(l, c*cos, c*sin)
		fits := true
		for _, v := range rgb {
			fits = fits && v > -1e-4 && v < 1+1e-4
		}
		if fits || c < 0.005 {
			return color.RGBA{gamma(rgb[0]), gamma(rgb[1]), gamma(rgb[2]), 255}
		}
	}
}

// linear converts from Oklab to linear sRGB (matrices of Björn Ottosson's definition).
func linear(l, a, b float64) [3]float64 {
	cube := func(x float64) float64 { return x * x * x }
	p := cube(l + 0.3963377774*a + 0.2158037573*b)
	q := cube(l - 0.1055613458*a - 0.0638541728*b)
	r := cube(l - 0.0894841775*a - 1.2914855480*b)
	return [3]float64{
		4.0767416621*p - 3.3077115913*q + 0.2309699292*r,
		-1.2684380046*p + 2.6097574011*q - 0.3413193965*r,
		-0.0041960863*p - 0.7034186147*q + 1.7076147010*r,
	}
}

func gamma(v float64) uint8 {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}

// darker returns the colour of the border of an area.
func darker(c color.RGBA, share float64) color.RGBA {
	f := func(v uint8) uint8 { return uint8(float64(v) * share) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 255}
}

// inkOn returns the colour of text on c.
func inkOn(c color.RGBA) color.RGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < 130 {
		return colorPaper
	}
	return colorInk
}
