package fieldplot

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/draw/chart"
	"blobio/internal/view/cf"
)

// bar chooses the colours of values and the ends of the range.
func (s *scale) bar(st *stats) *chart.ColorBar {
	o := chart.Spread{Label: withUnit(s.of.v.Name, paren(unit(s.of.v))), Ramp: chart.RampOf(s.o.Colors), Log: s.log, Lo: st.lo, Hi: st.hi, Positive: st.positive}
	if s.o.ranged() {
		o.Min, o.Max = s.o.Min, s.o.Max
	}
	return o.Bar()
}

// settle decides whether the values suit a logarithmic scale.
func (s *scale) settle(st *stats) {
	switch {
	case !s.o.Log:
	case st.finite() > 0 && math.IsInf(st.positive, 1) && !s.o.ranged():
		s.log = false
		s.notes = append(s.notes, "No value is above 0: the scale is not logarithmic.")
	case st.below > 0:
		s.notes = append(s.notes, fmt.Sprintf("%s not above 0, which a logarithmic scale does not have.", chart.Plural(st.below, "value")))
	}
}

// shown returns the colour bar, or nil if no values determine its ends.
func (s *scale) shown(b *chart.ColorBar, st *stats) *chart.ColorBar {
	if st.finite() == 0 && !s.o.ranged() {
		return nil
	}
	return b
}

// remark adds remarks for the viewer.
func (s *scale) remark(notes []string) {
	for _, n := range notes {
		if !slices.Contains(s.notes, n) {
			s.notes = append(s.notes, n)
		}
	}
}

// remarks returns the remarks for the viewer.
func (s *scale) remarks() (out []string) {
	if s.note != "" {
		out = append(out, s.note)
	}
	return append(out, s.notes...)
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// color returns the colour of a value. A value beyond an end, or non-positive on a logarithmic scale, has the colour of the end.
func (s *scale) color(b *chart.ColorBar, v float64) color.RGBA {
	if v != v {
		return chart.Tone(chart.Dead, s.o.Dark)
	}
	return b.At(v)
}

// A State is the state of an element.
type State string

const (
	Good    State = "value"
	Fill    State = "fill" // a fill value, or never written
	NaN     State = "NaN"
	Nothing State = "none" // no element at this point
)

// stats are statistics of values.
type stats struct {
	n, fill, nan int64
	inf          int64
	below        int64   // number of non-positive values
	lo, hi       float64 // range of finite values; lo > hi: none
	positive     float64 // smallest value above 0, infinite if none
}

func newStats() stats { return stats{lo: math.Inf(1), hi: math.Inf(-1), positive: math.Inf(1)} }

// add adds values to the statistics.
func (s *stats) add(values []float64) {
	for _, x := range values {
		s.n++
		if x <= 0 {
			s.below++
		}
		switch {
		case cf.IsNone(x):
			s.fill++
			continue
		case x != x:
			s.nan++
			continue
		case math.IsInf(x, 0):
			s.inf++
			continue
		}
		s.lo, s.hi = min(s.lo, x), max(s.hi, x)
		if x > 0 {
			s.positive = min(s.positive, x)
		}
	}
}

func (s *stats) finite() int64 { return s.n - s.fill - s.nan - s.inf }

// title returns the title of the picture, which describes the variable.
func (s *scale) title() string {
	name := att(s.of.v, "long_name")
	if name == "" {
		name = att(s.of.v, "standard_name")
	}
	if name == "" || strings.EqualFold(name, s.of.v.Name) {
		return s.of.v.Name
	}
	const most = 100
	if r := []rune(name); len(r) > most {
		name = strings.TrimSpace(string(r[:most])) + " …"
	}
	return s.of.v.Name + ": " + name
}

// heading returns the title and the lines below it. If the title is too wide, its second half moves to a line.
func (s *scale) heading(lines ...string) (title string, below []string) {
	title = s.title()
	if chart.Measure().Width(title, chart.Style{Size: 15, Bold: true}) > float64(s.o.width()-2*margin) {
		name, what, _ := strings.Cut(title, ": ")
		return name, append([]string{what}, lines...)
	}
	return title, lines
}

// place describes the position of the picture: the dataset, and the elements of the fixed dimensions.
func (p *plan) place(ctx context.Context) (string, error) {
	parts := []string{filepath.Base(p.data.Reader.Base())}
	for _, d := range p.dims {
		if !p.fixed(d) {
			continue
		}
		a, err := p.axis(ctx, d)
		if err != nil {
			return "", err
		}
		text := a.at(d.index)
		if d.n > 1 {
			index := fmt.Sprintf("%s %s of 0 to %s", d.name, chart.Count(d.index), chart.Count(d.n-1))
			if a.values == nil && a.texts == nil {
				text = index
			} else {
				text += " (" + index + ")"
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " · "), nil
}

// summary describes the number and range of the values.
func (s *scale) summary(st *stats) string {
	if st.fill == st.n {
		return fmt.Sprintf("none of %s has a value", chart.Plural(st.n, "element"))
	}
	digits := 5
	if st.lo < st.hi { // enough digits to distinguish lo and hi
		digits = digitsOf(max(math.Abs(st.lo), math.Abs(st.hi)), st.hi/2-st.lo/2, digits)
	}
	lo, hi := s.text(st.lo, digits, false), s.text(st.hi, digits, true)
	out := chart.Plural(st.n, "element")
	switch {
	case st.finite() == 0:
	case st.lo == st.hi:
		out += ", " + hi
	default:
		out += fmt.Sprintf(", %s to %s", lo, hi)
	}
	for _, x := range []struct {
		n    int64
		what string
	}{{st.fill, "without a value"}, {st.nan, "NaN"}, {st.inf, "infinite"}} {
		if x.n > 0 {
			out += fmt.Sprintf(", %s %s", chart.Count(x.n), x.what)
		}
	}
	return out
}
