package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/chart"
)

// mostLines is how many lines a plot of a sweep has at most.
const mostLines = 10

// Figure draws rates and phases over an axis: the one named, else ranks if they differ, else the first that differs. The other axes
// that differ make the lines.
func (s *Sweep) Figure(over string) (*chart.Figure, error) {
	varied := s.Plan.Varied()
	switch {
	case over != "" && !slices.ContainsFunc(SweepAxes(), func(a SweepAxis) bool { return a.Name == over }):
		return nil, fmt.Errorf("no axis %q", over)
	case over != "":
	case slices.Contains(varied, "ranks") || len(varied) == 0:
		over = "ranks"
	default:
		over = varied[0]
	}
	others := slices.DeleteFunc(slices.Clone(varied), func(a string) bool { return a == over })
	values := s.Plan.Axes[over]
	named := true // bars of values that are no numbers
	at := func(p SweepPoint) float64 { return float64(slices.Index(values, p[over])) }
	x := chart.Axis{Label: over}
	for _, v := range values {
		x.Names = append(x.Names, AxisText(over, v))
	}
	if numbers, ok := positive(values); ok && len(values) > 1 {
		least, most := slices.Min(numbers), slices.Max(numbers)
		named = false
		x = chart.Axis{Label: over, Log: most >= 4*least, Unit: chart.Metric}
		if slices.ContainsFunc(SweepAxes(), func(a SweepAxis) bool { return a.Name == over && a.Kind == SizeKnob }) {
			x.Unit, x.Suffix = chart.Binary, "B"
		}
		twos := !slices.ContainsFunc(numbers, func(n float64) bool { f, _ := math.Frexp(n); return f != 0.5 })
		switch {
		case !x.Log:
			x.Unit = chart.Number
		case twos && x.Suffix == "":
			x.Unit, x.Text = chart.Binary, func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
		}
		at = func(p SweepPoint) float64 { n, _ := strconv.ParseFloat(p[over], 64); return n }
	}
	means := s.Means()
	var names []string
	name := func(p SweepPoint) string {
		var list []string
		for _, a := range others {
			v := p[a]
			if v == "yes" || v == "no" || v[0] >= '0' && v[0] <= '9' {
				v = a + " " + AxisText(a, v)
			}
			list = append(list, v)
		}
		return strings.Join(list, ", ")
	}
	for i := range means {
		if n := name(means[i].Axes); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.SortStableFunc(means, func(a, b SweepMean) int {
		if d := at(a.Axes) - at(b.Axes); d != 0 {
			return int(math.Copysign(1, d))
		}
		return 0
	})
	f := &chart.Figure{Title: "blobio bench sweep: " + strings.Join(s.Plan.Axes["case"], ", "), Across: 2, Width: 900}
	scaling := ""
	if slices.Contains(varied, "ranks") {
		scaling = "strong scaling: the same data on all numbers of ranks; "
		if s.Plan.Weak {
			scaling = "weak scaling: data grow with the ranks; "
		}
	}
	f.Lines = append(f.Lines, fmt.Sprintf("%smedians of %d; %d of %d runs, %d failed", scaling, s.Plan.Repeats, len(s.Runs), s.All, s.Failed()))
	if n := len(s.Sessions); n > 0 {
		f.Lines = append(f.Lines, fmt.Sprintf("%s, %s", s.Sessions[n-1].Host, s.Sessions[n-1].FileSystem))
	}
	if len(names) > mostLines {
		f.Lines = append(f.Lines, fmt.Sprintf("the first %d of %d combinations; all are in the CSV file", mostLines, len(names)))
		names = names[:mostLines]
	}
	panel := func(title string, y chart.Axis, value func(m *SweepMean) float64) {
		p := &chart.Plot{Title: title, Height: 250, X: x, Y: y, Empty: "not measured"}
		drawn := false
		for i, n := range names {
			color := chart.Series[i%len(chart.Series)]
			if named {
				c := chart.Columns{Name: n, Color: color, Values: make([]float64, len(values))}
				for k := range means {
					if v := value(&means[k]); name(means[k].Axes) == n && v > 0 {
						c.Values[int(at(means[k].Axes))] = v
						drawn = true
					}
				}
				p.Columns = append(p.Columns, c)
				continue
			}
			l := chart.Line{Name: n, Color: color, Dots: true}
			if i >= len(chart.Series) {
				l.Dash = []float64{5, 3}
			}
			for k := range means {
				if v := value(&means[k]); name(means[k].Axes) == n && v > 0 {
					l.Points = append(l.Points, [2]float64{at(means[k].Axes), v})
					drawn = true
				}
			}
			p.Lines = append(p.Lines, l)
		}
		if drawn {
			f.Panels = append(f.Panels, p)
		}
	}
	mib := chart.Axis{Label: "MiB/s", Unit: chart.Number}
	seconds := chart.Axis{Unit: chart.Metric, Suffix: "s"}
	panel("write, MiB/s", mib, func(m *SweepMean) float64 { return perSecond(m.Data, m.Write) / (1 << 20) })
	panel("read, MiB/s", mib, func(m *SweepMean) float64 { return perSecond(m.Data, m.Read) / (1 << 20) })
	for _, ph := range SweepPhases {
		panel(ph+", slowest rank", seconds, func(m *SweepMean) float64 { return m.Phases[ph] })
	}
	if len(f.Panels) == 0 {
		return nil, fmt.Errorf("no run has figures")
	}
	return f, nil
}

// positive are values as numbers, if all are above 0.
func positive(values []string) (list []float64, ok bool) {
	for _, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0) {
			return nil, false
		}
		list = append(list, x)
	}
	return list, true
}

// AxisText is a value for people: a size with its unit.
func AxisText(axis, value string) string {
	size := slices.ContainsFunc(SweepAxes(), func(a SweepAxis) bool { return a.Name == axis && a.Kind == SizeKnob })
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !size || n <= 0 {
		return value
	}
	for i, shift := range []int{30, 20, 10} {
		if n%(1<<shift) == 0 {
			return fmt.Sprintf("%d%c", n>>shift, "GMK"[i])
		}
	}
	return value
}
