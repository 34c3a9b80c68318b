package ffplot

import (
	"image/color"
	"math"
)

var (
	colorPaper = color.RGBA{255, 255, 255, 255}
	colorInk   = color.RGBA{34, 38, 44, 255}
	colorSoft  = color.RGBA{104, 110, 120, 255} // secondary text
	colorLine  = color.RGBA{188, 193, 200, 255} // frames
	colorTrack = color.RGBA{240, 241, 243, 255} // where a line of the page has no bytes of the file

	colorMeta    = color.RGBA{52, 58, 70, 255}
	colorGap     = color.RGBA{205, 208, 212, 255}
	colorParity  = color.RGBA{128, 143, 166, 255}
	colorOverlap = color.RGBA{190, 24, 44, 255}
	colorLost    = color.RGBA{255, 236, 233, 255}
)

// palette returns n colours of variables. The hue turns by the golden angle, so
// that those which follow each other, as variables do in a file, differ most.
func palette(n int) []color.RGBA {
	const goldenAngle = 137.508
	out := make([]color.RGBA, n)
	for i := range out {
		l := [3]float64{0.70, 0.79, 0.62}[i%3]
		out[i] = oklch(l, [3]float64{0.125, 0.11, 0.13}[i%3], 250+goldenAngle*float64(i))
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

// mix returns a with the share t of b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	f := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.RGBA{f(a.R, b.R), f(a.G, b.G), f(a.B, b.B), 255}
}

// inkOn returns the colour of text on c.
func inkOn(c color.RGBA) color.RGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < 130 {
		return colorPaper
	}
	return colorInk
}
