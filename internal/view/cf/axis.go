package cf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
	"blobio/internal/view/cftime"
)

// maxAxis is the maximum number of values of a searched coordinate. They are held in memory, 8 bytes each.
const maxAxis = 1 << 26

// TimeOf returns the units of a variable whose values are times, or nil if the values are not times. A bounds variable without
// units has the units of the variable to which the bounds belong. The error gives the reason why times cannot be interpreted.
func TimeOf(s *blob.Schema, v *blob.Variable) (*cftime.Units, error) {
	if v.Type == cdf5.Char {
		return nil, nil
	}
	units, calendar, of := cdf5.FindAtt(v.Atts, "units"), cdf5.FindAtt(v.Atts, "calendar"), v
	if units == nil || calendar == nil {
		for i := range s.Vars() {
			if w := &s.Vars()[i]; Text(w.Atts, "bounds") == v.Name || Text(w.Atts, "climatology") == v.Name {
				if of = w; units == nil {
					units = cdf5.FindAtt(w.Atts, "units")
				}
				if calendar == nil {
					calendar = cdf5.FindAtt(w.Atts, "calendar")
				}
			}
		}
	}
	if !isTime(s, v) && !isTime(s, of) {
		return nil, nil
	}
	if m := MeaningOf(v); m.Err != nil {
		return nil, m.Err
	}
	var text [2]string
	for i, a := range []*cdf5.Att{units, calendar} {
		if a == nil {
			continue
		}
		t, ok := a.Value.(string)
		if !ok {
			return nil, fault.Usage("%s is a number (%s), want text", a.Name, quoted(a))
		}
		text[i] = strings.TrimRight(t, "\x00")
	}
	return cftime.Parse(text[0], text[1])
}

// isTime reports whether a variable holds times: by its units or another attribute, or because it is the coordinate time.
func isTime(s *blob.Schema, v *blob.Variable) bool {
	if cftime.IsTime(Text(v.Atts, "units")) || Text(v.Atts, "calendar") != "" || strings.EqualFold(Text(v.Atts, "axis"), "T") {
		return true
	}
	switch Text(v.Atts, "standard_name") {
	case "":
		return strings.EqualFold(v.Name, "time") && len(v.Dims) == 1 && s.Dims()[v.Dims[0]].Name == v.Name
	case "time", "forecast_reference_time":
		return true
	}
	return false
}

func coordinate(s *blob.Schema, v *blob.Variable, values []float64) *slab.Axis {
	const slack = 0.01 // fraction of a packing step: rounding may have moved a value across a limit
	a := &slab.Axis{Dim: s.Dims()[v.Dims[0]].Name, Values: values, Slack: slack * MeaningOf(v).Step()}
	switch u, err := TimeOf(s, v); {
	case err != nil:
		a.Date = func(string) (float64, error) { return 0, err }
	case u != nil:
		if !u.Even() {
			a.Times = slices.Clone(values)
			u = u.Linear(a.Times)
		}
		a.Date = u.Parse
	}
	return a
}

// Remarks returns warnings about the values of a variable.
func Remarks(s *blob.Schema, v *blob.Variable) []string {
	m := MeaningOf(v)
	out := slices.Clone(m.remarks())
	if _, err := TimeOf(s, v); err != nil && m.Err == nil {
		out = append(out, fmt.Sprintf("%s: %v, so times stay numbers", v.Name, err))
	}
	return out
}

// A Source is a dataset, or a part of one.
type Source interface {
	Schema() *blob.Schema
	Records() int64
	Base() string
	Read(ctx context.Context, name string, start, count []int64, dst any) error
}

// Axis returns the values of a one-dimensional variable, or nil if there is no such variable or it holds text.
func Axis(ctx context.Context, r Source, name string) (*slab.Axis, error) {
	s := r.Schema()
	id, ok := s.VarID(name)
	if !ok {
		return nil, nil
	}
	v := &s.Vars()[id]
	if len(v.Dims) != 1 || v.Type == cdf5.Char {
		return nil, nil
	}
	n := s.Elems(id)
	if v.Record {
		n = r.Records()
	}
	if n > maxAxis {
		return nil, fmt.Errorf("%s: coordinate %q has %d values, want at most %d to search: %w", r.Base(), name, n, maxAxis, fault.ErrTooLarge)
	}
	m := MeaningOf(v)
	if m.Err != nil {
		return nil, fmt.Errorf("%w: select by index, without a decimal point", m.Err)
	}
	values := make([]float64, n)
	if err := m.Read(values, func(stored any) error { return r.Read(ctx, name, []int64{0}, []int64{n}, stored) }); err != nil {
		return nil, err
	}
	a := coordinate(s, v, values)
	const exact = 1 << 53
	if a.Date == nil && m.Type().Size() == 8 && !m.Type().Float() && slices.ContainsFunc(values, func(x float64) bool { return math.Abs(x) > exact }) {
		return nil, fault.Usage("coordinate %q has integers beyond 2^53, so selection by value is not exact: select by index (a number without a decimal point)", name)
	}
	return a, nil
}

// Subset returns the subset of a dataset that selections (slab.Parse) describe.
func Subset(ctx context.Context, r Source, selections []string) (blob.Subset, error) {
	var args []slab.Arg
	for _, text := range selections {
		a, err := slab.Parse(text)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	if len(args) == 0 {
		return nil, nil
	}
	var dims []slab.Dim
	for _, d := range r.Schema().Dims() {
		if d.Len == blob.Unlimited {
			d.Len = r.Records()
		}
		dims = append(dims, slab.Dim{Name: d.Name, Len: d.Len})
	}
	return slab.Resolve(args, dims, func(name string) (*slab.Axis, error) { return Axis(ctx, r, name) })
}
