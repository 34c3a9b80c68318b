package fieldplot

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
	"blobio/internal/view/cf"
	"blobio/internal/view/cftime"
)

// dim is a dimension of a variable.
type dim struct {
	name   string
	n      int64
	record bool
	index  int64 // chosen index, if the picture does not extend along the dimension
}

// dimsOf returns the dimensions of a variable, with the chosen indices.
func dimsOf(r *blob.Reader, v *blob.Variable, o *Options) ([]dim, error) {
	all := r.Schema().Dims()
	var out []dim
	for i, id := range v.Dims {
		d := dim{name: all[id].Name, n: all[id].Len}
		if i == 0 && v.Record {
			d.record, d.n = true, r.Records()
		}
		if d.n == 0 {
			return nil, fault.Usage("%s has no data: dimension %s has no elements", v.Name, d.name)
		}
		out = append(out, d)
	}
	for name, k := range o.At {
		i := slices.IndexFunc(out, func(d dim) bool { return d.name == name })
		if i < 0 {
			return nil, fault.Usage("%s has no dimension %q", v.Name, name)
		}
		if k < 0 || k >= out[i].n {
			return nil, fault.Usage("%s %d, want 0 to %d", name, k, out[i].n-1)
		}
		out[i].index = k
	}
	return out, nil
}

// maxAxis is the maximum number of coordinate values read for a dimension.
const maxAxis = 1 << 22

// An axis describes the positions along a dimension.
type axis struct {
	dim
	name     string        // name of the coordinate variable, or of the dimension
	label    string        // with the unit
	unit     string        //
	values   []float64     // positions on the page, ascending or descending; nil: the indices
	texts    []string      // names of the positions if the coordinate is text; nil: numbers
	times    *cftime.Units // units if the values are times, or nil
	notes    []string      // remarks for the viewer
	space    bool          // a Cartesian axis of space, according to the attribute axis
	vertical bool          // vertical in a picture, such as levels
	down     bool          // the minimum is at the top
}

// axisNames maps dimensions to E3SM coordinates with other names.
var axisNames = map[string][]string{
	"nVertLevels":   {"refZMid", "refBottomDepth"},
	"nVertLevelsP1": {"refZInterface"},
	"Time":          {"daysSinceStartOfSim", "xtime"},
	"levsoi":        {"levgrnd"},
}

// axisOf reads the coordinate of a dimension, if there is one.
func axisOf(ctx context.Context, data *Data, d dim) (*axis, error) {
	a := &axis{dim: d, name: d.name, label: d.name}
	a.vertical = isLevel(d.name)
	a.down = a.vertical
	s := data.Reader.Schema()
	for _, name := range append([]string{d.name}, axisNames[d.name]...) {
		id, ok := s.VarID(name)
		if !ok || d.n > maxAxis {
			continue
		}
		v := &s.Vars()[id]
		if len(v.Dims) == 0 || s.Dims()[v.Dims[0]].Name != d.name {
			continue
		}
		if v.Type == cdf5.Char && len(v.Dims) == 2 && d.n <= 1<<16 {
			wide := s.Dims()[v.Dims[1]].Len
			if wide < 1 || wide > 256 {
				continue
			}
			text := make([]byte, d.n*wide)
			if err := data.Reader.Read(ctx, name, nil, nil, text); err != nil {
				return nil, err
			}
			for k := range d.n {
				a.texts = append(a.texts, tidy(string(text[k*wide:(k+1)*wide])))
			}
			return a, nil
		}
		if len(v.Dims) != 1 || v.Type == cdf5.Char {
			continue
		}
		values := make([]float64, d.n)
		if err := cf.MeaningOf(v).Read(values, func(stored any) error { return data.Reader.Read(ctx, name, nil, nil, stored) }); err != nil {
			return nil, err
		}
		a.unit = unit(v)
		a.name = name
		a.label = name
		a.notes = cf.Remarks(s, v)
		times, _ := cf.TimeOf(s, v) // ignore errors: notes and unit show them
		if a.unit != "" && times == nil {
			a.label = fmt.Sprintf("%s (%s)", name, a.unit)
		}
		a.space = slices.Contains([]string{"X", "Y", "Z"}, strings.ToUpper(att(v, "axis"))) && !strings.HasPrefix(a.unit, "°")
		if p := strings.ToLower(att(v, "positive")); p != "" {
			a.vertical, a.down = true, p == "down"
		} else if a.vertical {
			a.down = values[0] >= 0 && values[d.n-1] >= 0
		}
		if times != nil {
			times = times.Linear(values)
		}
		if inOrder(values) {
			a.values, a.times = values, times
		}
		return a, nil
	}
	return a, nil
}

// axis reads the coordinate of a dimension, and adds the notes of the axis to the picture.
func (p *plan) axis(ctx context.Context, d dim) (*axis, error) {
	a, err := axisOf(ctx, p.data, d)
	if err == nil {
		p.remark(a.notes)
	}
	return a, err
}

// tidy returns fixed-length text without padding.
func tidy(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return strings.TrimSpace(s)
}

// inOrder reports whether values are monotonic and plausible as coordinates.
func inOrder(v []float64) bool {
	for i, x := range v {
		if math.IsNaN(x) || math.Abs(x) > 1e19 { // larger than, for example, nanoseconds since 1970
			return false
		}
		if i > 0 && (x == v[i-1] || i > 1 && (x > v[i-1]) != (v[1] > v[0])) {
			return false
		}
	}
	return len(v) > 0
}

// value returns the coordinate of an index.
func (a *axis) value(i int64) float64 {
	if a.values == nil {
		return float64(i)
	}
	return a.values[i]
}

// nearest returns the index with the nearest coordinate.
func (a *axis) nearest(x float64) int64 {
	if a.values == nil {
		return int64(min(max(math.Round(x), 0), float64(a.n-1)))
	}
	up := len(a.values) < 2 || a.values[1] > a.values[0]
	i, _ := slices.BinarySearchFunc(a.values, x, func(v, x float64) int {
		if (v < x) == up && v != x {
			return -1
		}
		return 1
	})
	if i == len(a.values) || i > 0 && math.Abs(a.values[i-1]-x) <= math.Abs(a.values[i]-x) {
		i--
	}
	return int64(i)
}

// ends returns the coordinates half a step beyond the first and last value, in ascending order.
func (a *axis) ends() (lo, hi float64) {
	n := a.n
	if n == 1 {
		v := a.value(0)
		return v - 0.5, v + 0.5
	}
	lo = a.value(0) - (a.value(1)-a.value(0))/2
	hi = a.value(n-1) + (a.value(n-1)-a.value(n-2))/2
	lo, hi = min(lo, hi), max(lo, hi)
	if a.unit == "°N" && lo >= -180 && hi <= 180 { // no cell extends beyond a pole
		lo, hi = max(lo, -90), min(hi, 90)
	}
	return lo, hi
}

// chart returns the axis for a chart.
func (a *axis) chart() chart.Axis {
	c := chart.Axis{Label: a.label, Down: a.down && a.vertical}
	if a.values == nil && a.texts == nil {
		c.Label = "index along " + a.dim.name
	}
	c.Min, c.Max = a.ends()
	if a.times != nil || a.texts != nil {
		c.Text = func(x float64) string { return a.short(x) }
	}
	return c
}

// short returns the text of a position on the page.
func (a *axis) short(x float64) string {
	switch {
	case a.times != nil:
		return date(x, a.times)
	case a.texts != nil:
		if i := math.Round(x); i == x && i >= 0 && i < float64(len(a.texts)) {
			return a.texts[int(i)]
		}
		return ""
	}
	return chart.Text(x, 6)
}

// at describes the position of an index in words.
func (a *axis) at(i int64) string {
	if a.texts != nil && a.texts[i] != "" {
		return a.texts[i]
	}
	if a.values == nil {
		return fmt.Sprintf("%s %s", a.dim.name, chart.Count(i))
	}
	if a.times != nil {
		return date(a.values[i], a.times)
	}
	return withUnit(a.name+" "+number(a.values[i], a.digits(i)), a.unit)
}

// digits returns the number of digits that distinguish a coordinate from its neighbours.
func (a *axis) digits(i int64) int {
	x, step := a.values[i], math.Inf(1)
	for _, k := range []int64{i - 1, i + 1} {
		if k >= 0 && k < a.n {
			step = min(step, math.Abs(a.values[k]-x))
		}
	}
	return digitsOf(math.Abs(x), step, 6)
}

// digitsOf returns the number of significant digits that x needs to show a hundredth of a step. The
// result is at least usual.
func digitsOf(x, step float64, usual int) int {
	const most = 15
	if x == 0 || step == 0 {
		return usual
	}
	return int(min(max(math.Ceil(math.Log10(x)-math.Log10(step))+2, float64(usual)), most))
}

// number formats a number with some digits. An integer has all its digits, up to 15.
func number(x float64, digits int) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strings.ReplaceAll(strconv.FormatInt(int64(x), 10), "-", "−")
	}
	return chart.Text(x, digits)
}

// date formats a time as a date of its calendar. Without units, or far away, it is a number.
func date(x float64, u *cftime.Units) string {
	if u != nil {
		if d, ok := u.Date(x); ok {
			return d.Text(" ")
		}
	}
	return chart.Text(x, 6)
}
