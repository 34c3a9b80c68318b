package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"blobio/internal/chart"
	"blobio/recovery"
)

// costLines is a picture of the expected cost of a coarse step over the errors in it, a line for each cadence.
type costLines struct {
	sheet
	lines []costLine
	even  []costMark
	best  [][2]float64 // of the best cadence, if it was worked out
	most  float64      // end of the axis of errors
	top   float64      // and of costs, seconds
	where string
}

// costLine is save + errors*each.
type costLine struct {
	name       string
	save, each float64
	color      color.RGBA
}

type costMark struct {
	at, cost float64
	color    color.RGBA
}

// bestDash is the line of the best cadence.
var bestDash = []float64{5, 4}

var costColors = []color.RGBA{{40, 120, 190, 255}, {214, 110, 32, 255}, {14, 130, 92, 255}, {122, 70, 170, 255}, {190, 40, 80, 255}, {90, 96, 105, 255}}

func newCostLines(m *recovery.Model, rows []*costRow, evens []costEven, last bool, most, width float64) *costLines {
	c := &costLines{most: most, where: "a random fine step"}
	c.width, c.height = width, max(math.Round(width*curveShape), 320)
	if m.Anywhere {
		c.where = "a random step"
	}
	if last {
		c.where = "the last fine step"
	}
	for i, r := range rows {
		each := r.mean.Lost + r.mean.Reconfig
		if last {
			each = r.Lost + r.Reconfig
		}
		c.lines = append(c.lines, costLine{cadenceText(r.Cadence), r.Save, each, costColors[i%len(costColors)]})
	}
	end := 0.0
	for i, x := range evens {
		p := x.Random
		if last {
			p = x.Last
		}
		if p != nil {
			c.even = append(c.even, costMark{*p, c.lines[0].save + *p*c.lines[0].each, c.lines[i+1].color})
			end = max(end, 2**p)
		}
	}
	if c.most == 0 {
		if c.most = end; end == 0 {
			c.most = 1
		}
	}
	c.subtitle = fmt.Sprintf("%s of ratio %d, computing a coarse step takes %s s, errors in %s", plural(len(m.Step), "level"), m.Ratio, secText(m.StepTime()), c.where)
	return c
}

// envelope works out the cost of the best cadence of all, where that is quick; it is known for random steps only.
func (c *costLines) envelope(m *recovery.Model) error {
	if !m.CanTry() || len(m.Step) > 5 || c.where == "the last fine step" {
		return nil
	}
	const points = 60
	for i := range points + 1 {
		p := c.most * float64(i) / points
		_, cost, err := m.BestCadence(p)
		if err != nil {
			return err
		}
		c.best = append(c.best, [2]float64{p, cost.Total()})
	}
	return nil
}

func (c *costLines) x(p float64) float64 {
	return curveLeft + (c.width-curveLeft-curveRight)*p/c.most
}

func (c *costLines) y(cost float64) float64 {
	return c.height - curveBottom - (c.height-curveTop-curveBottom)*cost/c.top
}

func (c *costLines) picture() *chart.Page {
	for _, l := range c.lines {
		c.top = max(c.top, l.save+l.each*c.most)
	}
	if c.top = c.top * 1.05; c.top == 0 {
		c.top = 1
	}
	return c.page(c.draw)
}

func (c *costLines) draw() {
	left, right, bottom := curveLeft, c.width-curveRight, c.height-curveBottom
	for _, v := range ticks(c.top) {
		c.pen.Line(chart.Grid, 0.6, left, c.y(v), right, c.y(v))
		c.pen.Write(strconv.FormatFloat(float64(float32(v)), 'g', 4, 32)+" s", left-6, c.y(v)+3.5, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 1})
	}
	for _, v := range ticks(c.most) {
		c.pen.Line(chart.Grid, 0.6, c.x(v), curveTop, c.x(v), bottom)
		c.pen.Line(chart.Soft, 0.8, c.x(v), bottom, c.x(v), bottom+4)
		c.pen.Write(strconv.FormatFloat(float64(float32(v)), 'g', 4, 32), c.x(v), bottom+16, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 0.5})
	}
	c.pen.Line(chart.Ink, 0.9, left, bottom, right, bottom)
	c.pen.Write("errors per coarse step", (left+right)/2, bottom+35, 0, chart.Style{Size: 10.5, Color: chart.Ink, Align: 0.5})
	c.keys()

	for _, l := range c.lines {
		c.pen.Line(l.color, 2.2, c.x(0), c.y(l.save), c.x(c.most), c.y(l.save+l.each*c.most))
	}
	c.pen.Dashed(0, bestDash, func() {
		for i := 1; i < len(c.best); i++ {
			a, b := c.best[i-1], c.best[i]
			c.pen.Line(chart.Ink, 1.4, c.x(a[0]), c.y(a[1]), c.x(b[0]), c.y(b[1]))
		}
	})
	for i, m := range c.even {
		if m.at > c.most {
			continue
		}
		x, y := c.x(m.at), c.y(m.cost)
		c.pen.Dashed(0, []float64{4, 4}, func() { c.pen.Line(m.color, 1, x, y, x, bottom) })
		c.pen.Dot(chart.Paper, x, y, 5.4)
		c.pen.Dot(m.color, x, y, 4.2)
		name := fmt.Sprintf("break-even %.4g", m.at)
		w := c.pen.Width(name, chart.Style{Size: 11, Bold: true})
		tx, ty := x+9, bottom-10-17*float64(i%6)
		if tx+w > right {
			tx = x - 9 - w
		}
		c.pen.Fill(chart.Paper, chart.Box(tx-3, ty-11, w+6, 15))
		c.pen.Write(name, tx, ty, 0, chart.Style{Size: 11, Bold: true, Color: m.color})
	}
}

// keys writes what the lines are, one row over the plot.
func (c *costLines) keys() {
	type key struct {
		name  string
		color color.Color
	}
	list := []key{}
	for _, l := range c.lines {
		list = append(list, key{"cadence " + l.name, l.color})
	}
	if len(c.best) > 0 {
		list = append(list, key{"best cadence", chart.Ink})
	}
	size, gap, total := 10.5, 20.0, -20.0
	for _, k := range list {
		total += 26 + c.pen.Width(k.name, chart.Style{Size: size}) + gap
	}
	shrink := min(1, (c.width-curveLeft-curveRight)/total)
	x := curveLeft
	for i, k := range list {
		line := func() { c.pen.Line(k.color, 2.2, x, curveTop-18, x+20*shrink, curveTop-18) }
		if i == len(c.lines) {
			c.pen.Dashed(0, bestDash, line)
		} else {
			line()
		}
		c.pen.Write(k.name, x+26*shrink, curveTop-14.5, 0, chart.Style{Size: size * shrink, Color: chart.Ink})
		x += shrink * (26 + c.pen.Width(k.name, chart.Style{Size: size}) + gap)
	}
}
