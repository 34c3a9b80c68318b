package cost

import (
	"fmt"
	"math"

	"blobio/internal/chart"
	"blobio/internal/cli"
	"blobio/recovery"
)

// costFigure draws the expected cost of a coarse step over the errors in it, a line for each cadence.
// most is the end of the axis of errors; 0: twice the greatest break-even.
func costFigure(m *recovery.Model, rows []*costRow, evens []costEven, last bool, most, width float64) (*chart.Figure, error) {
	where := "a random fine step"
	if m.Anywhere {
		where = "a random step"
	}
	if last {
		where = "the last fine step"
	}
	each := func(r *costRow) float64 { // error
		if last {
			return r.Lost + r.Reconfig
		}
		return r.mean.Lost + r.mean.Reconfig
	}
	p := &chart.Plot{Height: max(math.Round(width*cli.PictureShape)-100, 220)}
	for i, x := range evens {
		at := x.Random
		if last {
			at = x.Last
		}
		if at != nil {
			p.Marks = append(p.Marks, chart.Mark{X: *at, Y: rows[0].Save + *at*each(rows[0]), Color: cli.SeriesColor(i + 1), Head: fmt.Sprintf("break-even %.4g", *at)})
		}
	}
	if most == 0 {
		for _, x := range p.Marks {
			most = max(most, 2*x.X)
		}
	}
	if most == 0 {
		most = 1
	}
	p.X = chart.Axis{Label: "errors per coarse step", Max: most}
	p.Y = chart.Axis{Suffix: " s"}
	for i, r := range rows {
		l := chart.Line{Name: "cadence " + cadenceText(r.Cadence), Color: cli.SeriesColor(i), Points: [][2]float64{{0, r.Save}, {most, r.Save + most*each(r)}}}
		if i >= len(chart.Series) {
			l.Dash = []float64{9, 3}
		}
		p.Lines = append(p.Lines, l)
	}
	if m.CanTry() && len(m.Step) <= 5 && !last { // quick enough, and known of random steps only
		best := chart.Line{Name: "best cadence", Color: chart.Ink, Width: 1.4, Dash: []float64{5, 4}}
		const points = 60
		for i := range points + 1 {
			x := most * float64(i) / points
			_, cost, err := m.BestCadence(x)
			if err != nil {
				return nil, err
			}
			best.Points = append(best.Points, [2]float64{x, cost.Total()})
		}
		p.Lines = append(p.Lines, best)
	}
	return &chart.Figure{Width: width, Panels: []chart.Panel{p},
		Lines: []string{fmt.Sprintf("%s of ratio %d, computing a coarse step takes %s s, errors in %s", cli.Plural(len(m.Step), "level"), m.Ratio, secText(m.StepTime()), where)}}, nil
}
