package fieldplot

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"blobio/internal/draw/chart"
)

// title is what stands above the picture: what the variable is.
func (p *plan) title() string {
	name := att(p.v, "long_name")
	if name == "" {
		name = att(p.v, "standard_name")
	}
	if name == "" || strings.EqualFold(name, p.v.Name) {
		return p.v.Name
	}
	const most = 100
	if r := []rune(name); len(r) > most {
		name = strings.TrimSpace(string(r[:most])) + " …"
	}
	return p.v.Name + ": " + name
}

// heading is the title with the lines below it. A title that is too wide for the picture has its second half there.
func (p *plan) heading(lines ...string) (title string, below []string) {
	title = p.title()
	if chart.Measure().Width(title, chart.Style{Size: 15, Bold: true}) > float64(p.o.width()-2*margin) {
		name, what, _ := strings.Cut(title, ": ")
		return name, append([]string{what}, lines...)
	}
	return title, lines
}

// place says where the picture stands: the dataset, and the elements of the dimensions that are fixed.
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

// summary says how many values there are, and from where to where they go.
func (p *plan) summary(s *stats) string {
	if s.fill == s.n {
		return fmt.Sprintf("none of %s has a value", plural(s.n, "element"))
	}
	digits := 5
	if s.lo < s.hi { // enough to tell them apart
		digits = digitsOf(max(math.Abs(s.lo), math.Abs(s.hi)), s.hi/2-s.lo/2, digits)
	}
	lo, hi := p.text(s.lo, digits, false), p.text(s.hi, digits, true)
	out := plural(s.n, "element")
	switch {
	case s.finite() == 0:
	case s.lo == s.hi:
		out += ", " + hi
	default:
		out += fmt.Sprintf(", %s to %s", lo, hi)
	}
	for _, x := range []struct {
		n    int64
		what string
	}{{s.fill, "without a value"}, {s.nan, "NaN"}, {s.inf, "infinite"}} {
		if x.n > 0 {
			out += fmt.Sprintf(", %s %s", chart.Count(x.n), x.what)
		}
	}
	return out
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return chart.Count(n) + " " + noun + "s"
}
