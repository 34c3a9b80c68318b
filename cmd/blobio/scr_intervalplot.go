package main

import (
	"image/color"
	"math"
	"strconv"
	"time"

	"blobio/internal/chart"
)

const (
	defaultCurveWidth            = 720
	minCurveWidth, maxCurveWidth = 400, 4000
)

// Places of the picture, in points from its upper left corner.
const (
	curveLeft, curveRight = 62.0, 26.0
	curveTop, curveBottom = 96.0, 50.0
	curveShape            = 0.6 // height by width
)

var (
	curveWrite = color.RGBA{40, 120, 190, 255}
	curveFail  = color.RGBA{214, 110, 32, 255}
	curveMarks = map[string]color.RGBA{"Young": {122, 70, 170, 255}, "Daly": {14, 130, 92, 255}, "so far": chart.Soft}
)

// curve is a picture of the overhead over the interval, with intervals marked.
type curve struct {
	sheet
	p    pace
	rows []paceRow

	shown  []paceRow
	placed [][4]float64 // names of marks: x0, y0, x1, y1
	lo, hi float64      // ends of the axis of intervals, seconds
	top    float64      // end of the axis of overheads, a fraction
}

// scale finds the ends of the axes: so that the optimum is in the middle, and what is far too dear is cut off.
func (c *curve) scale() {
	c.height = max(math.Round(c.width*curveShape), 320)
	c.lo, c.hi = math.Inf(1), 0
	best := math.Inf(1)
	for _, r := range c.rows[:2] {
		c.lo, c.hi = min(c.lo, r.Seconds/8), max(c.hi, r.Seconds*8)
		best = min(best, r.all)
	}
	c.top = 3.2 * best
	c.shown = c.rows[:2:2]
	for _, r := range c.rows[2:] {
		if r.Seconds < c.lo/8 || r.Seconds > c.hi*8 { // the table tells; here the optimum would be lost in a corner
			continue
		}
		c.shown = append(c.shown, r)
		c.lo, c.hi = min(c.lo, r.Seconds/1.5), max(c.hi, r.Seconds*1.5)
		c.top = max(c.top, min(1.2*r.all, 10*best))
	}
	c.top = min(c.top, beyond)
}

func (c *curve) x(t float64) float64 {
	return curveLeft + (c.width-curveLeft-curveRight)*math.Log(t/c.lo)/math.Log(c.hi/c.lo)
}

func (c *curve) y(overhead float64) float64 {
	return c.height - curveBottom - (c.height-curveTop-curveBottom)*overhead/c.top
}

func (c *curve) picture() *chart.Page {
	c.scale()
	return c.page(c.draw)
}

func (c *curve) draw() {
	c.axes()
	c.curves()
	c.marks()
}

func (c *curve) axes() {
	left, right, bottom := curveLeft, c.width-curveRight, c.height-curveBottom
	for _, v := range ticks(c.top) {
		c.pen.Line(chart.Grid, 0.6, left, c.y(v), right, c.y(v))
		c.pen.Write(strconv.FormatFloat(float64(float32(100*v)), 'f', -1, 32)+" %", left-6, c.y(v)+3.5, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 1})
	}
	last := math.Inf(-1)
	for _, t := range spanTicks(c.lo, c.hi) {
		x, name := c.x(t), tickText(t)
		w := c.pen.Width(name, chart.Style{Size: 10})
		if x-w/2 < last+8 || x+w/2 > c.width-6 {
			continue
		}
		last = x + w/2
		c.pen.Line(chart.Grid, 0.6, x, curveTop, x, bottom)
		c.pen.Line(chart.Soft, 0.8, x, bottom, x, bottom+4)
		c.pen.Write(name, x, bottom+16, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 0.5})
	}
	c.pen.Line(chart.Ink, 0.9, left, bottom, right, bottom)
	c.pen.Write("time of computing between two checkpoints", (left+right)/2, bottom+35, 0, chart.Style{Size: 10.5, Color: chart.Ink, Align: 0.5})

	// the key: one row over the plot
	key := []struct {
		name  string
		color color.Color
		width float64
	}{{"expected overhead", chart.Ink, 2.2}, {"by checkpoints", curveWrite, 1.4}, {"by failures and restarts", curveFail, 1.4}}
	size, gap := 10.5, 22.0
	total := -gap
	for _, k := range key {
		total += 26 + c.pen.Width(k.name, chart.Style{Size: size}) + gap
	}
	shrink := min(1, (right-left)/total)
	x := left
	for _, k := range key {
		c.pen.Line(k.color, k.width, x, curveTop-18, x+20*shrink, curveTop-18)
		c.pen.Write(k.name, x+26*shrink, curveTop-14.5, 0, chart.Style{Size: size * shrink, Color: chart.Ink})
		x += shrink * (26 + c.pen.Width(k.name, chart.Style{Size: size}) + gap)
	}
}

func (c *curve) curves() {
	var parts [3][][2]float64
	const steps = 600
	for i := range steps + 1 {
		t := c.lo * math.Pow(c.hi/c.lo, float64(i)/steps)
		all, writing := c.p.overhead(t)
		for k, v := range [3]float64{writing, all - writing, all} {
			parts[k] = append(parts[k], [2]float64{t, v})
		}
	}
	for k, col := range []color.Color{curveWrite, curveFail, chart.Ink} {
		width := 1.4
		if k == 2 {
			width = 2.2
		}
		c.polyline(parts[k], width, col)
	}
}

// polyline draws what of a curve is below the top.
func (c *curve) polyline(points [][2]float64, width float64, col color.Color) {
	var pieces [][][2]float64
	open := false
	move := func(x, y float64) { pieces = append(pieces, [][2]float64{{x, y}}) }
	line := func(x, y float64) { pieces[len(pieces)-1] = append(pieces[len(pieces)-1], [2]float64{x, y}) }
	for i, p := range points {
		in := p[1] <= c.top
		if i > 0 && in != (points[i-1][1] <= c.top) { // where it crosses the top
			a, b := points[i-1], p
			s := 0.0
			if d := b[1] - a[1]; !math.IsInf(d, 0) {
				s = (c.top - a[1]) / d
			} else if !in {
				s = 1
			}
			x, y := c.x(a[0])+s*(c.x(b[0])-c.x(a[0])), c.y(c.top)
			if in {
				move(x, y)
				open = true
			} else {
				line(x, y)
			}
		}
		switch x, y := c.x(p[0]), c.y(min(p[1], c.top)); {
		case in && open:
			line(x, y)
		case in:
			move(x, y)
		}
		open = in
	}
	c.pen.Lines(col, width, pieces...)
}

// marks draws the intervals: the lines, then the names where there is room for them.
func (c *curve) marks() {
	for i, r := range c.shown {
		from := float64(4 * (i % 2)) // so that two in one place are both seen
		c.pen.Dashed(from, []float64{4, 4}, func() {
			c.pen.Line(curveMarks[r.Method], 1.2, c.x(r.Seconds), curveTop, c.x(r.Seconds), c.height-curveBottom)
		})
	}
	for i, r := range c.shown {
		if x := c.x(r.Seconds); r.all <= c.top {
			size := []float64{5.4, 2.8, 3.4}[min(i, 2)]
			c.pen.Dot(chart.Paper, x, c.y(r.all), size+1)
			c.pen.Dot(curveMarks[r.Method], x, c.y(r.all), size)
		}
	}
	for i, r := range c.shown {
		c.name(r, r.Seconds < c.shown[(i+1)%2].Seconds)
	}
}

// name writes what a mark is beside it.
func (c *curve) name(r paceRow, leftFirst bool) {
	name, value := r.Method+"  "+spanText(span(r.Seconds)), "overhead "+overheadText(r.all)
	w := max(c.pen.Width(name, chart.Style{Size: 11, Bold: true}), c.pen.Width(value, chart.Style{Size: 10}))
	var left, y float64
	const rows, pitch = 6, 36.0
	for i := range 2 * rows {
		left, y = c.x(r.Seconds)+8, curveTop+16+pitch*float64(i/2)
		if (i%2 == 0) == leftFirst {
			left -= 16 + w
		}
		if c.free(left-3, y-11, left+w+3, y+18) {
			break
		}
		if i == 2*rows-1 { // nowhere: over whatever is there
			left, y = min(max(c.x(r.Seconds)+8, curveLeft), c.width-curveRight-w), curveTop+16
		}
	}
	c.placed = append(c.placed, [4]float64{left - 3, y - 11, left + w + 3, y + 18})
	c.pen.Fill(chart.Paper, chart.Box(left-3, y-11, w+6, 29))
	c.pen.Write(name, left, y, 0, chart.Style{Size: 11, Bold: true, Color: curveMarks[r.Method]})
	c.pen.Write(value, left, y+14, 0, chart.Style{Size: 10, Color: chart.Ink})
}

// free tells whether a box is in the plot, beside the curve and beside the names so far.
func (c *curve) free(x0, y0, x1, y1 float64) bool {
	if x0 < curveLeft || x1 > c.width-curveRight || y1 > c.height-curveBottom {
		return false
	}
	for _, p := range c.placed {
		if x0 < p[2] && p[0] < x1 && y0 < p[3] && p[1] < y1 {
			return false
		}
	}
	above, below := false, false
	for x := x0; x <= x1; x++ {
		t := c.lo * math.Pow(c.hi/c.lo, (x-curveLeft)/(c.width-curveLeft-curveRight))
		all, _ := c.p.overhead(t)
		y := c.y(all)
		above, below = above || y < y0, below || y > y1
		if !(above != below) {
			return false
		}
	}
	return true
}

// ticks are round values from 0 to top.
func ticks(top float64) (out []float64) {
	step := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if top/(step*m) <= 7 {
			step *= m
			break
		}
	}
	for i := 0; float64(i)*step <= top*(1+1e-9); i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

// spanTicks are round times from lo to hi seconds.
func spanTicks(lo, hi float64) (out []float64) {
	var all []float64
	for x := 1e-9; x < 1; x *= 10 {
		all = append(all, x, 2*x, 5*x)
	}
	all = append(all, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4*3600, 8*3600, 12*3600, 86400, 2*86400, 4*86400)
	for x := 10.0 * 86400; x < 1e13; x *= 10 {
		all = append(all, x, 2*x, 5*x)
	}
	in := func(t float64) bool { return t >= lo && t <= hi }
	for _, t := range all {
		if in(t) {
			out = append(out, t)
		}
	}
	return out
}

func tickText(t float64) string {
	return spanText(time.Duration(math.Round(min(t*1e9, math.MaxInt64/2))))
}
