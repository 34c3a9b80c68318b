package pio

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"blobio/cdf5"
)

// checkName says whether netCDF takes a name.
func checkName(name string) error {
	if len(name) > 256 {
		return failed(EMAXNAME, "name of %d bytes, want at most 256", len(name))
	}
	h := cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: name, Len: 1}}}
	if err := h.Validate(); err != nil {
		return failed(EBADNAME, "name %q", name)
	}
	return nil
}

// maxRank is PIO's PIO_MAX_VAR_DIMS: C and Fortran programs have room for as many numbers of dimensions.
const maxRank = 1024

func checkRank(name string, n int) error {
	if n > maxRank {
		return failed(EMAXDIMS, "variable %q of %d dimensions, want at most %d", name, n, maxRank)
	}
	return nil
}

// DefDim defines a dimension of n elements, or the record dimension, Unlimited.
func (f *File) DefDim(name string, n int64) (int, error) {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return -1, err
	}
	if n < 0 {
		return -1, failed(EDIMSIZE, "%s: dimension %q of length %d, want 0 or more", f.path, name, n)
	}
	for i := range f.dims {
		if f.dims[i].name == name {
			return -1, failed(ENAMEINUSE, "%s: dimension %q", f.path, name)
		}
		if n == Unlimited && f.dims[i].n == Unlimited {
			return -1, failed(EUNLIMIT, "%s: dimension %q, beside %q", f.path, name, f.dims[i].name)
		}
	}
	f.dims, f.changed = append(f.dims, dim{name, n}), true
	return len(f.dims) - 1, nil
}

// DefVar defines a variable of dimensions, slowest first; none make a scalar.
func (f *File) DefVar(name string, t cdf5.Type, dims []int) (int, error) {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return -1, err
	}
	if !t.Valid() {
		return -1, failed(EBADTYPE, "%s: variable %q of type %d, want 1..11", f.path, name, t)
	}
	if f.find(name) >= 0 {
		return -1, failed(ENAMEINUSE, "%s: variable %q", f.path, name)
	}
	if err := checkRank(name, len(dims)); err != nil {
		return -1, err
	}
	bytes := uint64(t.Size())
	for i, d := range dims {
		if d < 0 || d >= len(f.dims) {
			return -1, failed(EBADDIM, "%s: variable %q: dimension %d, want 0..%d", f.path, name, d, len(f.dims)-1)
		}
		n := f.dims[d].n
		if n == Unlimited {
			if i > 0 {
				return -1, failed(EUNLIMPOS, "%s: variable %q: dimension %q", f.path, name, f.dims[d].name)
			}
			continue
		}
		hi, lo := bits.Mul64(bytes, uint64(n))
		if hi != 0 || lo > math.MaxInt64/2 {
			return -1, failed(EVARSIZE, "%s: variable %q", f.path, name)
		}
		bytes = lo
	}
	f.vars, f.changed = append(f.vars, &variable{name: name, t: t, dims: slices.Clone(dims), frame: -1, nofill: f.nofill}), true
	return len(f.vars) - 1, nil
}

func (f *File) findDim(name string) int {
	name = cdf5.NormalName(name)
	return slices.IndexFunc(f.dims, func(d dim) bool { return d.name == name })
}

func (f *File) find(name string) int {
	name = cdf5.NormalName(name)
	return slices.IndexFunc(f.vars, func(v *variable) bool { return v.name == name })
}

// SetFill says what inquiries tell of variables that are defined from now on, and returns what it was: see DefVarFill.
func (f *File) SetFill(nofill bool) (was bool, err error) {
	if err := f.writable(); err != nil {
		return false, err
	}
	was, f.nofill = f.nofill, nofill
	return was, nil
}

// DefVarFill sets the fill value of a variable, a slice of one element of its type (it becomes the attribute _FillValue), or with nil keeps the one
// that it has. nofill is what inquiries tell; what nobody wrote reads as the fill value all the same.
func (f *File) DefVarFill(v int, nofill bool, value any) error {
	if err := f.definable(); err != nil {
		return err
	}
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if value != nil && !nofill {
		if err := f.PutAtt(v, "_FillValue", x.t, value); err != nil {
			return err
		}
	}
	x.nofill = nofill
	return nil
}

// RenameDim gives a dimension another name.
func (f *File) RenameDim(d int, name string) error {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return err
	}
	if d < 0 || d >= len(f.dims) {
		return failed(EBADDIM, "%s: dimension %d, want 0..%d", f.path, d, len(f.dims)-1)
	}
	if i := f.findDim(name); i >= 0 && i != d {
		return failed(ENAMEINUSE, "%s: dimension %q", f.path, name)
	}
	f.dims[d].name, f.changed = name, true
	return nil
}

// RenameVar gives a variable another name.
func (f *File) RenameVar(v int, name string) error {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return err
	}
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if i := f.find(name); i >= 0 && i != v {
		return failed(ENAMEINUSE, "%s: variable %q", f.path, name)
	}
	x.name, f.changed = name, true
	return nil
}
