package chart

import "math"

// A Figure is a sheet with a heading and a plot.
type Figure struct {
	Title string
	Lines []string // lines below the title
	Width float64  // in points
	Plot  *Plot
}

const (
	figureMargin = 24.0
	rightMargin  = 14.0 // margin of the plot
)

// Page lays the figure out.
func (f *Figure) Page() *Page {
	return &Page{Width: f.Width, Height: math.Ceil(f.draw(Measure())), Draw: func(d *Pen) { f.draw(d) }}
}

// draw draws the figure and returns its height.
func (f *Figure) draw(d *Pen) float64 {
	width := f.Width - 2*figureMargin
	y := d.Heading(figureMargin, 14, width, f.Title, f.Lines...) + 14
	f.Plot.draw(d, Box(figureMargin, y, width, f.Plot.Height), min(f.Plot.margin(d), 0.45*width))
	return y + f.Plot.Height + 14
}

// placed is a plot with its position on the page.
type placed struct {
	area Rect
	x, y scale
}

// Where returns the data coordinates of a point on the page. ok is false if the point lies outside the plot.
func (f *Figure) Where(x, y float64) (vx, vy float64, ok bool) {
	d := Measure()
	f.draw(d)
	p := d.placed
	if p == nil || x < p.area.X || x > p.area.X+p.area.W || y < p.area.Y || y > p.area.Y+p.area.H {
		return 0, 0, false
	}
	return p.x.value(x), p.y.value(y), true
}
