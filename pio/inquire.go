package pio

import (
	"slices"

	"blobio/cdf5"
)

// A Var is what inquiries tell of a variable.
type Var struct {
	Name    string
	Type    cdf5.Type
	Dims    []int // slowest first
	NumAtts int
	NoFill  bool
	Fill    any // a slice of one element of Type: its _FillValue, or netCDF's default
}

// Var tells of a variable.
func (f *File) Var(v int) (Var, error) {
	x, err := f.variable(v)
	if err != nil {
		return Var{}, err
	}
	return Var{Name: x.name, Type: x.t, Dims: slices.Clone(x.dims), NumAtts: len(x.atts), NoFill: x.nofill, Fill: cdf5.View(x.t, x.fill())}, nil
}

// VarID returns the number of the variable of a name.
func (f *File) VarID(name string) (int, error) {
	if err := f.usable(); err != nil {
		return -1, err
	}
	v := f.find(name)
	if v < 0 {
		return -1, failed(ENOTVAR, "%s: variable %q", f.path, name)
	}
	return v, nil
}

// Dim returns the name and the length of a dimension: of the record dimension the number of records, with those that are not committed yet.
func (f *File) Dim(d int) (name string, n int64, err error) {
	if err := f.usable(); err != nil {
		return "", 0, err
	}
	if d < 0 || d >= len(f.dims) {
		return "", 0, failed(EBADDIM, "%s: dimension %d, want 0..%d", f.path, d, len(f.dims)-1)
	}
	if n = f.dims[d].n; n == Unlimited {
		n = f.records
	}
	return f.dims[d].name, n, nil
}

// DimID returns the number of the dimension of a name.
func (f *File) DimID(name string) (int, error) {
	if err := f.usable(); err != nil {
		return -1, err
	}
	d := f.findDim(name)
	if d < 0 {
		return -1, failed(EBADDIM, "%s: dimension %q", f.path, name)
	}
	return d, nil
}

// Counts returns the numbers of dimensions, variables and attributes of the file, and the record dimension, -1 if there is none.
func (f *File) Counts() (dims, vars, atts, unlimited int, err error) {
	if err := f.usable(); err != nil {
		return 0, 0, 0, -1, err
	}
	unlimited = slices.IndexFunc(f.dims, func(d dim) bool { return d.n == Unlimited })
	return len(f.dims), len(f.vars), len(f.atts), unlimited, nil
}

// Format is netCDF's number of the format: 1, 2 or 5 of a CDF file, 3 of netCDF-4, and of blobs 5, as which they are converted.
func (f *File) Format() (int, error) {
	if err := f.usable(); err != nil {
		return 0, err
	}
	if f.base != nil && f.base.netcdf4 {
		return 3, nil
	}
	if f.opt.Form == Canonical && f.opt.Version != 0 {
		return int(f.opt.Version), nil
	}
	return int(cdf5.CDF5), nil
}

// Form says what files there are, or will be.
func (f *File) Form() Form { return f.opt.Form }
