package slab

import (
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"fmt"
	"math"
	"strings"
)

// Dim is a dimension with its current length: the length of the record dimension is the number of records.
type Dim struct {
	Name string
	Len  int64
}

// Axis is a coordinate: the values of a variable of one dimension.
type Axis struct {
	Dim    string
	Values []float64 // NaN: missing
	// Slack is the tolerance with which values are compared with a limit.
	Slack float64
	// Date converts a date to the units of Times. It is nil if the values are not times.
	Date func(text string) (float64, error)
	// Times are the values to compare dates with; nil: use Values.
	Times []float64
}

// Coord returns the coordinate of a name. It returns nil if there is no such variable, or if it is text or does not have one
// dimension.
type Coord func(name string) (*Axis, error)

// Resolve returns the selected indices of each named dimension. It joins several selections of one name in ascending order. A
// name is a dimension or a variable of one dimension. The coordinate of a dimension is the variable of the same name. Another
// variable of one dimension, such as the latitudes of the columns of a mesh, selects the elements whose values are in the range.
// If several names select along one dimension, an element must satisfy all these selections.
func Resolve(args []Arg, dims []Dim, coord Coord) (map[string]Index, error) {
	of := map[string][]Index{} // selections by name
	along := map[string]string{}
	var names []string
	for _, a := range args {
		x, dim, err := a.resolve(dims, coord)
		if err != nil {
			return nil, err
		}
		if of[a.Name] == nil {
			names = append(names, a.Name)
		}
		of[a.Name], along[a.Name] = append(of[a.Name], x), dim
	}
	out := map[string]Index{}
	for _, name := range names {
		x, err := of[name][0], error(nil)
		if len(of[name]) > 1 {
			if x, err = union(of[name]); err != nil {
				return nil, err
			}
		}
		dim := along[name]
		if y, ok := out[dim]; ok {
			if x, err = intersection(y, x); err != nil {
				return nil, err
			}
			if len(x) == 0 {
				return nil, fault.Usage("the selections along dimension %q have no common element", dim)
			}
		}
		out[dim] = x
	}
	return out, nil
}

func (a Arg) resolve(dims []Dim, coord Coord) (Index, string, error) {
	for _, d := range dims {
		if d.Name == cdf5.NormalName(a.Name) {
			x, err := a.ofDim(d, coord)
			return x, d.Name, err
		}
	}
	ax, err := a.axis(coord, a.Name)
	if err != nil {
		return nil, "", err
	}
	if ax == nil {
		return nil, "", a.wrong("no dimension or coordinate %q%s", a.Name, near(a.Name, dims))
	}
	if a.whole() {
		return nil, "", a.wrong("%q is a variable along %q: give values with a decimal point, or select with -d %s", a.Name, ax.Dim, ax.Dim)
	}
	x, err := a.loose(ax)
	return x, ax.Dim, err
}

// axis returns the coordinate for a selection by value or by date.
func (a Arg) axis(coord Coord, name string) (*Axis, error) {
	ax, err := coord(name)
	if ax == nil || err != nil || ax.Times == nil || a.min.kind != byDate && a.max.kind != byDate {
		return ax, err
	}
	dated := *ax
	dated.Values = ax.Times
	return &dated, nil
}

// near lists the dimensions, for an error about an unknown name.
func near(name string, dims []Dim) string {
	var list []string
	for _, d := range dims {
		if strings.EqualFold(d.Name, name) {
			return fmt.Sprintf(", but %q", d.Name)
		}
		list = append(list, d.Name)
	}
	if len(list) > 12 {
		return ""
	}
	return ", want one of " + strings.Join(list, ", ")
}

// ofDim resolves a selection of a dimension.
func (a Arg) ofDim(d Dim, coord Coord) (Index, error) {
	if d.Len == 0 {
		return nil, a.wrong("dimension %q has no elements", d.Name)
	}
	lo, hi := int64(0), d.Len-1
	if a.whole() {
		for _, l := range []struct {
			limit
			to *int64
		}{{a.min, &lo}, {a.max, &hi}} {
			if l.kind == open {
				continue
			}
			i := l.index
			if i < 0 {
				i += d.Len
			}
			if i < 0 || i >= d.Len {
				return nil, a.wrong("index %d, want 0 to %d", l.index, d.Len-1)
			}
			*l.to = i
		}
		return wrapped(lo, hi, d.Len, a.stride), nil
	}
	ax, err := a.axis(coord, d.Name)
	if err != nil {
		return nil, err
	}
	if ax == nil || int64(len(ax.Values)) != d.Len || ax.Dim != d.Name {
		return nil, a.wrong("dimension %q has no coordinate variable: select by index, without a decimal point", d.Name)
	}
	if lo, hi, err = a.within(ax); err != nil {
		return nil, err
	}
	return wrapped(lo, hi, d.Len, a.stride), nil
}

// wrapped selects each stride-th index from lo to hi, inclusive. If hi is before lo, it wraps at the end.
func wrapped(lo, hi, n, stride int64) Index {
	if lo <= hi {
		return Index{{lo, hi - lo + 1, 1}}.thinned(stride)
	}
	return Index{{lo, n - lo, 1}, {0, hi + 1, 1}}.thinned(stride)
}

// values returns the limits in the units of a coordinate. Open ends are infinite.
func (a Arg) values(ax *Axis) (lo, hi float64, err error) {
	value := func(l limit, open float64) (float64, error) {
		switch l.kind {
		case byValue:
			return l.value, nil
		case byDate:
			if ax.Date == nil {
				return 0, a.wrong("%q has no units of time for the date %s", a.Name, l.date)
			}
			x, err := ax.Date(l.date)
			if err != nil {
				return 0, a.wrong("%w", err)
			}
			return x, nil
		}
		return open, nil
	}
	if lo, err = value(a.min, math.Inf(-1)); err == nil {
		hi, err = value(a.max, math.Inf(1))
	}
	return lo, hi, err
}

// within finds the ends of a value range in an ordered coordinate. If the lower limit is the larger value, the range wraps, as
// for longitudes.
func (a Arg) within(ax *Axis) (first, last int64, err error) {
	v := ax.Values
	lo, hi, err := a.values(ax)
	if err != nil {
		return 0, 0, err
	}
	if a.single || lo == hi {
		i, err := a.nearest(ax, lo)
		return i, i, err
	}
	wraps := lo > hi
	lo, hi = lo-ax.Slack, hi+ax.Slack
	dir := order(v)
	if dir == 0 {
		return 0, 0, a.wrong("the values of %q are neither ascending nor descending: select by index", a.Name)
	}
	if wraps && dir < 0 {
		return 0, 0, a.wrong("the values of %q descend: give the smaller limit first", a.Name)
	}
	first, last = -1, -1
	for i, x := range v {
		var in, end bool // in: the value is in the range; end: it is also in the last part of a range that wraps
		if !wraps {
			in = x >= lo && x <= hi
			end = in
		} else {
			in, end = x >= lo, x <= hi
		}
		if in && first < 0 {
			first = int64(i)
		}
		if end {
			last = int64(i)
		}
	}
	n := int64(len(v))
	switch {
	case first < 0 && last < 0:
		return 0, 0, a.wrong("no value of %q is in this range; the values go from %v to %v", a.Name, v[0], v[n-1])
	case first < 0:
		first = 0
	case last < 0:
		last = n - 1
	}
	return first, last, nil
}

// nearest returns the element with the nearest value, the first of several.
func (a Arg) nearest(ax *Axis, x float64) (int64, error) {
	best, at := math.Inf(1), -1
	for i, y := range ax.Values {
		if d := math.Abs(x - y); d < best {
			best, at = d, i
		}
	}
	if at < 0 {
		return 0, a.wrong("no value of %q is a number", a.Name)
	}
	return int64(at), nil
}

// loose selects the elements of an unordered coordinate whose values are in the range.
func (a Arg) loose(ax *Axis) (Index, error) {
	lo, hi, err := a.values(ax)
	if err != nil {
		return nil, err
	}
	if a.single || lo == hi {
		i, err := a.nearest(ax, lo)
		return Index{{i, 1, 1}}, err
	}
	wraps := lo > hi
	lo, hi = lo-ax.Slack, hi+ax.Slack
	var out []piece
	for i, x := range ax.Values {
		if in := x >= lo && x <= hi; in || wraps && (x >= lo || x <= hi) {
			if n := len(out); n > 0 && out[n-1].to == int64(i) {
				out[n-1].to++
			} else {
				out = append(out, piece{int64(i), int64(i) + 1})
			}
		}
	}
	if len(out) == 0 {
		return nil, a.wrong("no value of %q is in this range", a.Name)
	}
	return indexOf(out).thinned(a.stride), nil
}

// order returns 1 if values ascend, -1 if they descend, and 0 otherwise or if a value is NaN.
func order(v []float64) int {
	dir := 0
	for i, x := range v {
		if x != x {
			return 0
		}
		if i == 0 {
			continue
		}
		d := 1
		switch y := v[i-1]; {
		case x == y:
			return 0
		case x < y:
			d = -1
		}
		if dir != 0 && dir != d {
			return 0
		}
		dir = d
	}
	if len(v) == 1 {
		return 1
	}
	return dir
}
