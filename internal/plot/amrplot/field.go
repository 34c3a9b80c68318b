package amrplot

import (
	"image"
	"image/color"
	"math"

	"blobio/internal/amr/grids"
	"blobio/internal/chart"
)

// FieldOptions of DrawField. The zero value, or nil, means the defaults.
type FieldOptions struct {
	Title    string      // above the picture. Default: none
	Lines    []string    // about what is seen, below the title
	Label    string      // of the colours: the field and its unit
	Width    int         // of the picture, in points. Default 720, range 240 to 4000
	Ramp     *chart.Ramp // nil: chosen by the values
	Log      bool
	Min, Max float64 // of the colours; both 0: those of the values
	Edges    bool    // draw the borders of the boxes of all levels
	Dark     bool
	Points   [][2]float64 // particles, in the units of the domain
	Axes     [2]string    // names of the axes to the right and up
}

// FieldWidth is how many pixels a view of a picture has across and up at most, which is what its values are to be computed for.
func FieldWidth(width int) (across, most int) {
	if width == 0 {
		width = defaultWidth
	}
	across = (width - 2*margin - int(axisLead)) * chart.Scale
	return across, int(float64(across) * maxTall)
}

// levelInk is the colour of the borders of boxes, coarsest level first: the finer, the stronger.
func levelInk(level, levels int) color.NRGBA {
	return color.NRGBA{255, 255, 255, uint8(90 + 130*level/max(levels-1, 1))}
}

// DrawField draws the values of a view, with the bar of the colours.
func DrawField(s *grids.Shown, levels int, o *FieldOptions) *chart.Page {
	if o == nil {
		o = &FieldOptions{}
	}
	width := float64(o.Width)
	if o.Width == 0 {
		width = defaultWidth
	}
	bar := chart.Spread{Label: o.Label, Ramp: o.Ramp, Log: o.Log, Lo: s.Min, Hi: s.Max, Positive: s.Positive, Min: o.Min, Max: o.Max}.Bar()
	img := image.NewRGBA(image.Rect(0, 0, s.W, s.H))
	missing, bare := false, false
	for y := range s.H {
		for x := range s.W {
			i := (s.H-1-y)*s.W + x
			c := chart.Tone(chart.Empty, o.Dark)
			switch v := s.Values[i]; {
			case s.Level[i] < 0:
				bare = true
			case v != v:
				c, missing = chart.Tone(chart.Dead, o.Dark), true
			default:
				c = bar.At(v)
			}
			img.SetRGBA(x, y, c)
		}
	}
	wide, high := float64(s.W)/chart.Scale, float64(s.H)/chart.Scale
	top := func(d *chart.Pen) float64 {
		return math.Ceil(d.Heading(margin, margin-10, width-2*margin, o.Title, o.Lines...)) + 6
	}
	draw := func(d *chart.Pen) float64 {
		area := chart.Box(margin+axisLead, top(d), wide, high)
		at := func(x [2]float64) (float64, float64) {
			return area.X + (x[0]-s.Lo[0])/(s.Hi[0]-s.Lo[0])*area.W, area.Y + (s.Hi[1]-x[1])/(s.Hi[1]-s.Lo[1])*area.H
		}
		if o.Edges {
			drawEdges(d, s, levels, area, at)
		}
		for _, p := range o.Points {
			if x, y := at(p); x >= area.X && x <= area.X+area.W && y >= area.Y && y <= area.Y+area.H {
				if r := pointSize(len(o.Points)); r > 1 {
					dot(d, x, y, r+0.5, color.NRGBA{255, 255, 255, 170})
				}
				dot(d, x, y, pointSize(len(o.Points)), color.NRGBA{20, 20, 24, 210})
			}
		}
		axes := [2]*chart.Axis{}
		for k := range axes {
			axes[k] = &chart.Axis{Label: o.Axes[k], Min: s.Lo[k], Max: s.Hi[k]}
		}
		y := chart.Axes(d, area, axes[0], axes[1], axisLead+margin-8) + 4
		most := min(area.W, 560)
		y = bar.Draw(d, area.X+(area.W-most)/2, y+8, most) + 8
		l := chart.Legend{}
		if missing {
			l.Keys = append(l.Keys, chart.Area("no number (NaN)", chart.Dead))
		}
		if bare {
			l.Keys = append(l.Keys, chart.Area("no cells here", chart.Empty))
		}
		if len(o.Points) > 0 {
			l.Keys = append(l.Keys, chart.Spot("particles", color.NRGBA{20, 20, 24, 210}))
		}
		return l.Draw(d, margin, y+4, width-2*margin)
	}
	measure := chart.Measure()
	return &chart.Page{Owner: "amrplot", Width: width, Height: math.Ceil(draw(measure)) + margin/2, Dark: o.Dark, Quick: true,
		Draw: func(d *chart.Pen) { draw(d) }, Under: img, At: image.Pt(int(margin+axisLead), int(top(measure)))}
}

// drawEdges draws the borders of boxes, cut off at the window.
func drawEdges(d *chart.Pen, s *grids.Shown, levels int, area chart.Rect, at func(x [2]float64) (float64, float64)) {
	by := make([][]chart.Rect, levels)
	for _, b := range s.Boxes {
		x0, y1 := at(b.Lo)
		x1, y0 := at(b.Hi)
		x0, y0, x1, y1 = max(x0, area.X), max(y0, area.Y), min(x1, area.X+area.W), min(y1, area.Y+area.H)
		if x0 < x1 && y0 < y1 && b.Level < levels {
			by[b.Level] = append(by[b.Level], chart.Box(x0, y0, x1-x0, y1-y0))
		}
	}
	for l := range by {
		small := area.W
		for _, r := range by[l] {
			small = min(small, r.W, r.H)
		}
		if len(by[l]) > 0 {
			d.Frame(levelInk(l, levels), min(0.7, max(small/10, 0.15)), by[l]...)
		}
	}
}

// pointSize is the radius of particles, of many smaller.
func pointSize(n int) float64 { return min(max(60/math.Sqrt(float64(n)+1), 0.35), 1.8) }
