package scrtools

import (
	"image/color"
	"math"

	"blobio/internal/chart"
	"blobio/internal/cli"
	"blobio/internal/scr/runlog"
)

var paceMarks = map[string]color.RGBA{"Young": chart.Series[3], "Daly": chart.Series[2], "so far": chart.Soft}

// paceFigure draws the overhead over the interval, with the intervals of rows marked: first the optima.
func paceFigure(p runlog.Pace, rows []paceRow, width float64) *chart.Figure {
	lo, hi, top := paceEnds(rows)
	parts := []chart.Line{{Name: "by checkpoints", Color: chart.Series[0], Width: 1.4}, {Name: "by failures and restarts", Color: chart.Series[1], Width: 1.4},
		{Name: "expected overhead", Color: chart.Ink, Width: 2.2}}
	const steps = 600
	for i := range steps + 1 {
		t := lo * math.Pow(hi/lo, float64(i)/steps)
		all, writing := p.Overhead(t)
		for k, v := range [3]float64{writing, all - writing, all} {
			parts[k].Points = append(parts[k].Points, [2]float64{t, 100 * v})
		}
	}
	plot := &chart.Plot{Height: max(math.Round(width*cli.PictureShape)-100, 220), Lines: parts,
		X: chart.Axis{Label: "time of computing between two checkpoints", Min: lo, Max: hi, Log: true, Unit: chart.Clock, Text: func(t float64) string { return cli.SpanText(span(t)) }},
		Y: chart.Axis{Max: 100 * top, Suffix: " %"}}
	for _, r := range rows {
		plot.Marks = append(plot.Marks, chart.Mark{X: r.Seconds, Y: 100 * r.all, Color: paceMarks[r.Method],
			Head: r.Method + "  " + cli.SpanText(span(r.Seconds)), Text: "overhead " + overheadText(r.all)})
	}
	return &chart.Figure{Width: width, Panels: []chart.Panel{plot}}
}

// paceEnds are the ends of the axes, so that the optimum is in the middle and what is far too dear is cut off.
func paceEnds(rows []paceRow) (lo, hi, top float64) {
	lo = math.Inf(1)
	best := math.Inf(1)
	for _, r := range rows[:2] {
		lo, hi = min(lo, r.Seconds/8), max(hi, r.Seconds*8)
		best = min(best, r.all)
	}
	top = 3.2 * best
	for _, r := range rows[2:] {
		if r.Seconds < lo/8 || r.Seconds > hi*8 { // the table tells; here the optimum would be lost in a corner
			continue
		}
		lo, hi = min(lo, r.Seconds/1.5), max(hi, r.Seconds*1.5)
		top = max(top, min(1.2*r.all, 10*best))
	}
	return lo, hi, min(top, beyond)
}
