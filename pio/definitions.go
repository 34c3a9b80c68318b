package pio

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Global selects the attributes of the file instead of a variable's.
const Global = -1

// Unlimited is the length of the record dimension in DefDim.
const Unlimited int64 = 0

// definitions are the dimensions, variables and attributes of a file that this rank knows.
type definitions struct {
	mode
	dims    []dim
	vars    []*variable
	atts    []cdf5.Att // attributes of the file
	records int64      // including records not yet written
	changed bool       // since the last commit, or since the open writer began
	nofill  bool       // of new variables; SetFill also changes the others
}

// dim is a dimension.
type dim struct {
	name string
	n    int64 // 0: the record dimension
}

// variable is a variable with its attributes.
type variable struct {
	name   string
	t      cdf5.Type
	dims   []int
	atts   []cdf5.Att
	nofill bool
	frame  int64  // set by SetFrame; -1: none
	stored string // name in the base; "": not in the base
}

// MaxName is the maximum number of bytes of a name, and of a text in a decomposition file.
const MaxName = 256

// checkName returns an error if netCDF forbids a name. A name that is too long gets PIO's code.
func checkName(name string) error {
	if len(name) > MaxName {
		return failed(EINVAL, "the name has %d bytes, want at most %d", len(name), MaxName)
	}
	h := cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: name, Len: 1}}}
	if err := h.Validate(); err != nil {
		return failed(EBADNAME, "name %q", name)
	}
	return nil
}

// maxRank is PIO_MAX_VAR_DIMS: C and Fortran programs reserve space for this many dimensions of a variable.
const maxRank = 1024

func checkRank(name string, n int) error {
	if n > maxRank {
		return failed(EMAXDIMS, "variable %q has %d dimensions, want at most %d", name, n, maxRank)
	}
	return nil
}

// DefDim defines a dimension of n elements, or the record dimension, Unlimited.
func (f *definitions) DefDim(name string, n int64) (int, error) {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return -1, err
	}
	if n < 0 {
		return -1, failed(EDIMSIZE, "%s: dimension %q has length %d, want 0 or more", f.path, name, n)
	}
	for i := range f.dims {
		if f.dims[i].name == name {
			return -1, failed(ENAMEINUSE, "%s: dimension %q", f.path, name)
		}
		if n == Unlimited && f.dims[i].n == Unlimited {
			return -1, failed(EUNLIMIT, "%s: dimension %q is unlimited, but %q is unlimited already", f.path, name, f.dims[i].name)
		}
	}
	f.dims, f.changed = append(f.dims, dim{name, n}), true
	return len(f.dims) - 1, nil
}

// DefVar defines a variable. dims is slowest first; empty dims make a scalar.
func (f *definitions) DefVar(name string, t cdf5.Type, dims []int) (int, error) {
	name = cdf5.NormalName(name)
	if err := errors.Join(f.definable(), checkName(name)); err != nil {
		return -1, err
	}
	if err := f.typed("variable", name, t); err != nil {
		return -1, err
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
			return -1, failed(EBADDIM, "%s: variable %q: dimension %d, want %s", f.path, name, d, fault.Below(len(f.dims), "dimensions"))
		}
		n := f.dims[d].n
		if n == Unlimited {
			if i > 0 {
				return -1, failed(EINVAL, "%s: variable %q: the unlimited dimension %q is not the first", f.path, name, f.dims[d].name)
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

func (f *definitions) findDim(name string) int {
	name = cdf5.NormalName(name)
	return slices.IndexFunc(f.dims, func(d dim) bool { return d.name == name })
}

func (f *definitions) find(name string) int {
	name = cdf5.NormalName(name)
	return slices.IndexFunc(f.vars, func(v *variable) bool { return v.name == name })
}

// SetFill sets Var.NoFill of all variables, also of those defined later, and returns the former setting. See DefVarFill.
func (f *definitions) SetFill(nofill bool) (was bool, err error) {
	if err := f.writable(); err != nil {
		return false, err
	}
	was, f.nofill = f.nofill, nofill
	for _, v := range f.vars {
		v.nofill = nofill
	}
	return was, nil
}

// DefVarFill sets Var.NoFill of a variable. Unless value is nil or nofill is set, it also sets the fill value, the attribute
// _FillValue. value is a slice of one element of the variable's type. Unwritten elements read as the fill value in any case, with
// one exception: the rest of a record that only PutVars has written is 0 with nofill, unless the variable has a _FillValue.
func (f *definitions) DefVarFill(v int, nofill bool, value any) error {
	if err := cmp.Or(f.writable(), f.definable()); err != nil {
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

// renamable returns an error unless a new name may replace name. In data mode the new name may not be longer, as in netCDF.
func (f *definitions) renamable(name, to string) error {
	mode := f.definable
	if len(to) <= len(name) {
		mode = f.writable
	}
	return errors.Join(mode(), checkName(to))
}

// RenameDim renames a dimension. In data mode the new name may not be longer.
func (f *definitions) RenameDim(d int, name string) error {
	name = cdf5.NormalName(name)
	was, _, err := f.Dim(d)
	if err := cmp.Or(err, f.renamable(was, name)); err != nil {
		return err
	}
	if f.findDim(name) >= 0 {
		return failed(ENAMEINUSE, "%s: dimension %q", f.path, name)
	}
	f.dims[d].name, f.changed = name, true
	return nil
}

// RenameVar renames a variable. In data mode the new name may not be longer.
func (f *definitions) RenameVar(v int, name string) error {
	name = cdf5.NormalName(name)
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if err := f.renamable(x.name, name); err != nil {
		return err
	}
	if f.find(name) >= 0 {
		return failed(ENAMEINUSE, "%s: variable %q", f.path, name)
	}
	x.name, f.changed = name, true
	return nil
}

// variable returns a variable of an open file.
func (f *definitions) variable(v int) (*variable, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	if v < 0 || v >= len(f.vars) {
		return nil, failed(ENOTVAR, "%s: variable %d, want %s", f.path, v, fault.Below(len(f.vars), "variables"))
	}
	return f.vars[v], nil
}

// isRecord reports whether a variable has the record dimension.
func (f *definitions) isRecord(v *variable) bool {
	return len(v.dims) > 0 && f.dims[v.dims[0]].n == Unlimited
}

// shape returns the lengths of a variable's dimensions without the record dimension.
func (f *definitions) shape(v *variable) []int64 {
	dims := v.dims
	if f.isRecord(v) {
		dims = dims[1:]
	}
	n := make([]int64, len(dims))
	for i, d := range dims {
		n[i] = f.dims[d].n
	}
	return n
}

func product(n []int64) int64 {
	p := int64(1)
	for _, x := range n {
		p *= x
	}
	return p
}

// fill returns the fill value of a variable in the byte order of the machine.
func (v *variable) fill() []byte {
	b := make([]byte, v.t.Size())
	cdf5.FillBytes(b, v.t, elem.HostOrder(), fillAtt(v))
	return b
}

func fillAtt(v *variable) *cdf5.Att {
	if a := cdf5.FindAtt(v.atts, "_FillValue"); a != nil && a.Type == v.t && a.Len() == 1 {
		return a
	}
	return nil
}
