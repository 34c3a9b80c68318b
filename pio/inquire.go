package pio

import (
	"math"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// A Var describes a variable.
type Var struct {
	Name    string
	Type    cdf5.Type
	Dims    []int // slowest first
	NumAtts int
	NoFill  bool
	Fill    any // a slice of one element of Type: _FillValue, or netCDF's default
}

// Var describes a variable.
func (f *definitions) Var(v int) (Var, error) {
	x, err := f.variable(v)
	if err != nil {
		return Var{}, err
	}
	return Var{Name: x.name, Type: x.t, Dims: slices.Clone(x.dims), NumAtts: len(x.atts), NoFill: x.nofill, Fill: cdf5.View(x.t, x.fill())}, nil
}

// VarID returns the index of the variable with this name.
func (f *definitions) VarID(name string) (int, error) {
	if err := f.usable(); err != nil {
		return -1, err
	}
	v := f.find(name)
	if v < 0 {
		return -1, failed(ENOTVAR, "%s: variable %q", f.path, name)
	}
	return v, nil
}

// Dim returns the name and the length of a dimension. The length of the record dimension is the number of records, including
// uncommitted ones.
func (f *definitions) Dim(d int) (name string, n int64, err error) {
	if err := f.usable(); err != nil {
		return "", 0, err
	}
	if d < 0 || d >= len(f.dims) {
		return "", 0, failed(EBADDIM, "%s: dimension %d, want %s", f.path, d, fault.Below(len(f.dims), "dimensions"))
	}
	if n = f.dims[d].n; n == Unlimited {
		n = f.records
	}
	return f.dims[d].name, n, nil
}

// DimID returns the index of the dimension with this name.
func (f *definitions) DimID(name string) (int, error) {
	if err := f.usable(); err != nil {
		return -1, err
	}
	d := f.findDim(name)
	if d < 0 {
		return -1, failed(EBADDIM, "%s: dimension %q", f.path, name)
	}
	return d, nil
}

// Counts returns the numbers of dimensions, variables and attributes of the file, and the index of the record dimension, or -1.
func (f *definitions) Counts() (dims, vars, atts, unlimited int, err error) {
	if err := f.usable(); err != nil {
		return 0, 0, 0, -1, err
	}
	unlimited = slices.IndexFunc(f.dims, func(d dim) bool { return d.n == Unlimited })
	return len(f.dims), len(f.vars), len(f.atts), unlimited, nil
}

// SetFrame selects the record of a variable, from 0, for WriteDarray and ReadDarray. For a fixed variable with one more dimension
// than the decomposition, frame is the index along the first dimension.
func (f *definitions) SetFrame(v int, frame int64) error {
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if frame < 0 {
		return failed(EINVAL, "%s: frame %d of %q, want 0 or more", f.path, frame, x.name)
	}
	x.frame = frame
	return nil
}

// AdvanceFrame selects the next frame.
func (f *definitions) AdvanceFrame(v int) error {
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if x.frame == math.MaxInt64 {
		return failed(EINVAL, "%s: frame %d of %q is the last possible", f.path, x.frame, x.name)
	}
	x.frame++
	return nil
}
