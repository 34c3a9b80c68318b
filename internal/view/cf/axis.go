package cf

import (
	"context"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
	"blobio/internal/view/cftime"
)

// maxAxis is how many values a coordinate may have that is searched: they are in memory, as 8 bytes each.
const maxAxis = 1 << 26

// TimeOf returns the units of a variable's times: its own, or as bounds of a variable those of that one. It is nil if they are
// no times; the error says why units of times are not known.
func TimeOf(s *blob.Schema, v *blob.Variable) (*cftime.Units, error) {
	of := v
	if Text(v.Atts, "units") == "" {
		for i := range s.Vars() {
			w := &s.Vars()[i]
			if Text(w.Atts, "bounds") == v.Name || Text(w.Atts, "climatology") == v.Name {
				of = w
			}
		}
	}
	units := Text(of.Atts, "units")
	if v.Type == cdf5.Char || !cftime.IsTime(units) {
		return nil, nil
	}
	if m := MeaningOf(v); m.Err != nil {
		return nil, m.Err
	}
	return cftime.Parse(units, Text(of.Atts, "calendar"))
}

// A Source is a dataset, or a part of one.
type Source interface {
	Schema() *blob.Schema
	Records() int64
	Base() string
	Read(ctx context.Context, name string, start, count []int64, dst any) error
}

// Axis returns the values of a variable of one dimension, nil if there is no such variable, or if it holds text.
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
		return nil, fmt.Errorf("%w: choose by index, without a point", m.Err)
	}
	const slack = 0.01 // of the step of packed values: a limit is on one that rounding has moved
	a := &slab.Axis{Dim: s.Dims()[v.Dims[0]].Name, Values: make([]float64, n), Slack: slack * m.Step()}
	if err := m.Read(a.Values, func(stored any) error { return r.Read(ctx, name, []int64{0}, []int64{n}, stored) }); err != nil {
		return nil, err
	}
	if u, err := TimeOf(s, v); err != nil {
		a.Date = func(string) (float64, error) { return 0, err }
	} else if u != nil {
		a.Date = u.Parse
	}
	return a, nil
}

// Subset returns what selections (slab.Parse) take of a dataset.
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
