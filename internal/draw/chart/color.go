package chart

import (
	"image/color"
	"math"
)

// Colours other than data.
var (
	Paper = color.RGBA{255, 255, 255, 255}
	Ink   = color.RGBA{34, 38, 44, 255}    // text, axes
	Soft  = color.RGBA{104, 110, 120, 255} // secondary text
	Rule  = color.RGBA{188, 193, 200, 255} // frames
	Grid  = color.RGBA{228, 230, 234, 255} // grid lines, behind the data
	Empty = color.RGBA{240, 241, 243, 255} // no data
	Dead  = color.RGBA{205, 208, 212, 255} // data without an owner
)

// Blue is the colour of a data line.
var Blue = color.RGBA{40, 120, 190, 255}

// Colours drawn over data.
var (
	Faint = color.NRGBA{20, 24, 30, 70}    // thin lines
	Coast = color.NRGBA{20, 24, 30, 220}   // drawn with a halo, because the data may have the same colour
	Halo  = color.NRGBA{255, 255, 255, 90} //
	Veil  = color.NRGBA{255, 255, 255, 165}
)

// night maps colours other than data to their versions on dark paper.
var night = map[color.Color]color.Color{
	Paper: color.RGBA{24, 26, 31, 255},
	Ink:   color.RGBA{228, 231, 236, 255},
	Soft:  color.RGBA{156, 163, 174, 255},
	Rule:  color.RGBA{84, 90, 100, 255},
	Grid:  color.RGBA{50, 54, 62, 255},
	Empty: color.RGBA{38, 41, 48, 255},
	Dead:  color.RGBA{92, 97, 106, 255},
	Faint: color.NRGBA{236, 238, 242, 64},
	Veil:  color.NRGBA{24, 26, 31, 165},
}

// Tone returns the colour as drawn on the paper. Colours other than data differ on dark paper.
func Tone[C color.Color](c C, dark bool) C {
	if n, ok := night[c].(C); ok && dark {
		return n
	}
	return c
}

// tone returns Tone for the pen's paper.
func (d *Pen) tone(c color.Color) color.Color { return Tone(c, d.dark) }

// OKLCH converts a colour from Oklab, where equal steps look equal, to sRGB. Lightness is 0 to 1, hue is in degrees. OKLCH
// reduces chroma if the colour does not fit.
func OKLCH(l, c, h float64) color.RGBA {
	sin, cos := math.Sincos(h * math.Pi / 180)
	for ; ; c *= 0.95 {
		if rgb, fits := Oklab(l, c*cos, c*sin); fits || c < 0.005 {
			return rgb
		}
	}
}

// Oklab converts from Oklab to sRGB with the matrices of Björn Ottosson's definition. It clips components outside the range of
// sRGB.
func Oklab(l, a, b float64) (rgb color.RGBA, fits bool) {
	cube := func(x float64) float64 { return x * x * x }
	p := cube(l + 0.3963377774*a + 0.2158037573*b)
	q := cube(l - 0.1055613458*a - 0.0638541728*b)
	r := cube(l - 0.0894841775*a - 1.2914855480*b)
	var v [3]uint8
	fits = true
	for i, x := range [3]float64{
		4.0767416621*p - 3.3077115913*q + 0.2309699292*r,
		-1.2684380046*p + 2.6097574011*q - 0.3413193965*r,
		-0.0041960863*p - 0.7034186147*q + 1.7076147010*r,
	} {
		fits = fits && x > -1e-4 && x < 1+1e-4
		v[i] = gamma(x)
	}
	return color.RGBA{v[0], v[1], v[2], 255}, fits
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

// Darker returns c with its brightness multiplied by share, for the border of an area in that colour.
func Darker(c color.RGBA, share float64) color.RGBA {
	f := func(v uint8) uint8 { return uint8(float64(v) * share) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 255}
}
