package chart

import (
	"image/color"
	"math"
)

// A Ramp is a sequence of 256 colours, in equal-looking steps, for values between two ends.
type Ramp struct {
	Name string
	// Middle means that the middle value has a pale colour, for values of both signs.
	Middle bool
	colors [256]color.RGBA
}

// Ramps are the available ramps. Lightness is monotonic, or monotonic away from the middle. So ramps work in grey and for all
// kinds of colour vision.
var Ramps = []*Ramp{
	ramp("blue-yellow", false, func(t float64) (l, c, h float64) {
		return 0.27 + 0.66*t, 0.085 + 0.045*t*t, 295 - 190*t
	}),
	ramp("blue-red", true, func(t float64) (l, c, h float64) {
		far := math.Abs(2*t - 1) // from the middle
		h = 255
		if t > 0.5 {
			h = 28
		}
		return 0.97 - 0.57*math.Pow(far, 1.15), 0.17 * math.Sin(math.Min(far*1.25, 1)*math.Pi/2), h
	}),
	ramp("white-blue", false, func(t float64) (l, c, h float64) {
		return 0.98 - 0.68*t, 0.15 * math.Sin(math.Pi*math.Pow(t, 0.8)*0.72), 195 + 75*t
	}),
	ramp("red-yellow", false, func(t float64) (l, c, h float64) {
		return 0.20 + 0.76*t, 0.06 + 0.14*math.Sin(math.Pi*math.Pow(t, 0.9)), 5 + 100*t
	}),
	ramp("grey", false, func(t float64) (l, c, h float64) { return 0.22 + 0.76*t, 0, 0 }),
}

func ramp(name string, middle bool, at func(t float64) (l, c, h float64)) *Ramp {
	r := &Ramp{Name: name, Middle: middle}
	for i := range r.colors {
		r.colors[i] = OKLCH(at(float64(i) / float64(len(r.colors)-1)))
	}
	return r
}

// RampOf returns the ramp with a name, or nil.
func RampOf(name string) *Ramp {
	for _, r := range Ramps {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// At returns the colour for t between 0 and 1. Values outside get the colour of the nearer end.
func (r *Ramp) At(t float64) color.RGBA {
	n := len(r.colors)
	return r.colors[min(max(int(t*float64(n)), 0), n-1)]
}

// A ColorBar is the legend of a ramp: an axis of the values, with ends.
type ColorBar struct {
	Ramp *Ramp
	Axis Axis
	// Below and Above mean that values lie outside the ends; the bar then has pointed ends.
	Below, Above bool
}

// Place returns the position of a value between the ends, from 0 to 1. ok is false if the axis cannot show the value.
func (b *ColorBar) Place(v float64) (t float64, ok bool) {
	lo, hi, is := b.Axis.ends(nil)
	if !is || !b.Axis.drawable(v) {
		return 0, false
	}
	s := scale{&b.Axis, lo, hi, 0, 1}
	return s.at(v), true
}

// Draw draws the bar below y within a width, and returns its bottom.
func (b *ColorBar) Draw(d *Pen, x, y, width float64) float64 {
	const high, point = 12.0, 9.0
	area := Box(x+point, y, width-2*point, high)
	for i, c := range b.Ramp.colors { // extend each rectangle to the end, to avoid seams
		from := area.W * float64(i) / float64(len(b.Ramp.colors))
		d.Fill(c, Box(area.X+from, y, area.W-from, high))
	}
	outline := [][2]float64{{area.X, y}, {area.X + area.W, y}}
	if b.Above {
		d.Polygon(b.Ramp.At(1), [2]float64{area.X + area.W, y}, [2]float64{area.X + area.W + point, y + high/2}, [2]float64{area.X + area.W, y + high})
		outline = append(outline, [2]float64{area.X + area.W + point, y + high/2})
	}
	outline = append(outline, [2]float64{area.X + area.W, y + high}, [2]float64{area.X, y + high})
	if b.Below {
		d.Polygon(b.Ramp.At(0), [2]float64{area.X, y}, [2]float64{area.X - point, y + high/2}, [2]float64{area.X, y + high})
		outline = append(outline, [2]float64{area.X - point, y + high/2})
	}
	d.Lines(Rule, 0.8, append(outline, outline[0]))
	lo, hi, ok := b.Axis.ends(nil)
	if !ok {
		return y + high
	}
	s := scale{&b.Axis, lo, hi, area.X, area.X + area.W}
	return s.below(d, area, false)
}
