package bench

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"blobio/internal/chart"
)

var guideHue = color.RGBA{200, 40, 60, 255}

// curves draws costs over the number of ranks: a plot for each cost, with a line
// that grows as the number of ranks does.
func (t table) curves(growth []Growth) (panels []chart.Panel) {
	for _, c := range curveCosts {
		name, suffix := c.name, "s"
		if strings.HasSuffix(name, "bytes") {
			suffix = "B"
		}
		p := &chart.Plot{Title: name, Height: 250, Empty: "not measured",
			X: chart.Axis{Label: "ranks", Log: true}, Y: chart.Axis{Log: true, Unit: chart.Metric, Suffix: suffix}}
		var last [2]float64 // the greatest cost at the most ranks
		from := math.Inf(1)
		for i, who := range t.curveWho() {
			l := chart.Line{Name: who, Color: hueOf(who), Dots: true}
			if i >= len(layouts) { // with many subfiles
				l.Dash = []float64{5, 3}
			}
			x, y := t.series(c.what, who, c.value)
			for k := range x {
				at := [2]float64{float64(x[k]), y[k]}
				l.Points = append(l.Points, at)
				from = min(from, at[0])
				if at[0] > last[0] || at[0] == last[0] && at[1] > last[1] {
					last = at
				}
			}
			for _, g := range growth {
				if g.What == name && g.Who == who {
					l.End = fmt.Sprintf("%.2f", g.Last)
				}
			}
			p.Lines = append(p.Lines, l)
		}
		if last[0] > from {
			p.Lines = append(p.Lines, chart.Line{Name: "grows as the number of ranks", Color: guideHue, Width: 1, Guide: true,
				Points: [][2]float64{{from, last[1] * from / last[0]}, last}})
		}
		panels = append(panels, p)
	}
	return panels
}
