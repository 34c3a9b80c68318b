package chart

import (
	"image/color"
	"math"
)

// Few is the maximum number of items for which Colors returns clearly different colours. For more items, hue follows the index,
// to separate high from low, and lightness separates neighbours.
const Few = 32

// Colors returns n colours for adjacent areas; least limits the lightness of the darkest colour (0 to 1).
func Colors(n int, least float64) []color.RGBA {
	if n <= Few {
		return distinct(n, least)
	}
	out := make([]color.RGBA, n)
	for i := range out {
		t := float64(i) / float64(n-1)
		l := least + 0.05 + (0.80-least)*t + [4]float64{-0.07, 0.05, -0.02, 0.09}[i%4]
		out[i] = OKLCH(l, [4]float64{0.14, 0.11, 0.16, 0.09}[i%4], 300-260*t+[4]float64{-9, 11, 4, -4}[i%4])
	}
	return out
}

// Shades returns n colours from pale to strong, for ordered items.
func Shades(n int) []color.RGBA {
	out := make([]color.RGBA, n)
	for i := range out {
		t := 0.5
		if n > 1 {
			t = float64(i) / float64(n-1)
		}
		out[i] = OKLCH(0.94-0.30*t, 0.05+0.08*t, 105+165*t)
	}
	return out
}

// distinct returns n colours. Each colour is as far as possible from earlier colours and from greys, for any kind of colour
// vision.
func distinct(n int, least float64) []color.RGBA {
	type candidate struct {
		looks looks
		c     color.RGBA
		near  float64 // squared distance to the nearest chosen colour
	}
	var all []candidate
	for l := least; l < 0.9; l += 0.065 {
		for _, c := range []float64{0.07, 0.11, 0.15} {
			if l > 0.8 && c > 0.12 {
				continue // too vivid
			}
			for h := 0.0; h < 360; h += 12 {
				sin, cos := math.Sincos(h * math.Pi / 180)
				if rgb, fits := Oklab(l, c*cos, c*sin); fits {
					all = append(all, candidate{look(rgb), rgb, math.Inf(1)})
				}
			}
		}
	}
	take := func(c looks) {
		for i := range all {
			all[i].near = min(all[i].near, all[i].looks.distance(&c))
		}
	}
	for _, v := range []uint8{46, 200, 245} { // borders, areas without an owner, paper
		take(look(color.RGBA{v, v, v, 255}))
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
		take(all[best].looks)
	}
	return out
}

// looks is a colour in Oklab as seen with normal vision, without red cones, and without green cones.
type looks [3][3]float64

// sights are matrices from linear sRGB to the colours seen by each kind of vision (G. M. Machado and others, "A
// physiologically-based model for simulation of color vision deficiency", 2009).
var sights = [3][3][3]float64{
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
}

func look(c color.RGBA) (out looks) {
	rgb := [3]float64{linearLight(c.R), linearLight(c.G), linearLight(c.B)}
	for k, m := range sights {
		var v [3]float64
		for i := range v {
			v[i] = max(0, m[i][0]*rgb[0]+m[i][1]*rgb[1]+m[i][2]*rgb[2])
		}
		l := math.Cbrt(0.4122214708*v[0] + 0.5363325363*v[1] + 0.0514459929*v[2])
		n := math.Cbrt(0.2119034982*v[0] + 0.6806995451*v[1] + 0.1073969566*v[2])
		s := math.Cbrt(0.0883024619*v[0] + 0.2817188376*v[1] + 0.6299787005*v[2])
		out[k] = [3]float64{0.2104542553*l + 0.7936177850*n - 0.0040720468*s,
			1.9779984951*l - 2.4285922050*n + 0.4505937099*s, 0.0259040371*l + 0.7827717662*n - 0.8086757660*s}
	}
	return out
}

// distance returns the squared distance of two colours for the vision that distinguishes them least. Deficient vision
// distinguishes fewer colours, so its distances count more.
func (a *looks) distance(b *looks) float64 {
	least := math.Inf(1)
	for k := range a {
		l, x, y := a[k][0]-b[k][0], a[k][1]-b[k][1], a[k][2]-b[k][2]
		d := l*l + x*x + y*y
		if k == 0 {
			d -= 0.5 * l * l // areas of the same hue look alike
		} else {
			d *= 4
		}
		least = min(least, d)
	}
	return least
}

func linearLight(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}
