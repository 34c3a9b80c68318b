package chart

import (
	"io"
	"math"
)

// A Figure is a sheet with a heading, a legend and panels.
type Figure struct {
	Title  string
	Lines  []string // about what is seen, below the title
	Width  float64  // points. 0: 720
	Panels []*Plot
	Across int // panels side by side. 0: 1
}

const (
	figureMargin = 24.0
	rightMargin  = 14.0 // of a panel
)

// Page lays the figure out.
func (f *Figure) Page() *Page {
	p := &Page{Width: f.Width, Draw: func(d *Pen) { f.draw(d) }}
	if p.Width == 0 {
		p.Width = 720
	}
	p.Height = math.Ceil(f.draw(Measure()))
	return p
}

// PNG writes the figure as PNG.
func (f *Figure) PNG(w io.Writer) error { return f.Page().PNG(w) }

// SVG writes the figure as SVG.
func (f *Figure) SVG(w io.Writer) error { return f.Page().SVG(w) }

// draw draws the figure and returns its height.
func (f *Figure) draw(d *Pen) float64 {
	width := f.Width
	if width == 0 {
		width = 720
	}
	width -= 2 * figureMargin
	y := d.Heading(figureMargin, 14, width, f.Title, f.Lines...)
	var legend Legend
	named := map[string]bool{}
	left := 0.0
	for _, p := range f.Panels {
		for _, k := range p.keys() {
			if !named[k.Text] {
				legend.Keys = append(legend.Keys, k)
			}
			named[k.Text] = true
		}
		left = max(left, p.margin(d))
	}
	y = legend.Draw(d, figureMargin, y+7, width) + 7
	across := min(max(f.Across, 1), max(len(f.Panels), 1))
	const apart = 30
	wide := (width - apart*float64(across-1)) / float64(across)
	left = min(left, 0.45*wide)
	for i := 0; i < len(f.Panels); i += across {
		tall := 0.0
		for k, p := range f.Panels[i:min(i+across, len(f.Panels))] {
			p.draw(d, Box(figureMargin+float64(k)*(wide+apart), y, wide, p.height()), left)
			tall = max(tall, p.height())
		}
		y += tall + 14
	}
	return y
}

// placed is a plot on paper.
type placed struct {
	area Rect
	x, y scale
}

// Where tells what the axes of the plot at a point of the figure's page say there. ok is false beside the plots.
func (f *Figure) Where(x, y float64) (vx, vy float64, ok bool) {
	d := Measure()
	f.draw(d)
	for _, p := range d.placed {
		if x >= p.area.X && x <= p.area.X+p.area.W && y >= p.area.Y && y <= p.area.Y+p.area.H {
			return p.x.value(x), p.y.value(y), true
		}
	}
	return 0, 0, false
}
