package blob

import (
	"fmt"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Unlimited is the length of the record dimension.
const Unlimited int64 = 0

// DimID names a dimension of a Schema, in the order of definition from 0.
type DimID int

// VarID names a variable of a Schema, in the order of definition from 0.
type VarID int

// DecompID names a decomposition of a Schema: D1 is 1. 0 means not decomposed.
type DecompID int

// A Schema says what a dataset holds, in canonical terms: dimensions,
// attributes, variables, and which of them are decomposed. Names are kept, and
// looked up, in Unicode normal form C, as the netCDF libraries do. It is built once,
// then shared by all ranks of a process; it must not be changed after it was
// given to Create. Mistakes made while building are kept and reported by Err,
// and by Create.
type Schema struct {
	dims    []cdf5.Dim
	atts    []cdf5.Att
	vars    []Variable
	decomps [][]DimID
	err     error
	files   *Schema  // not nil: what the files of a dataset have, of which this is an extension
	fixed   []string // with files: variables of the dataset that are not in it
}

// A Variable of a Schema.
type Variable struct {
	Name   string
	Type   cdf5.Type  // in the file
	Dims   []DimID    // canonical, slowest first; the record dimension, if any, first
	Atts   []cdf5.Att // canonical ones only, without decomposition_ID and global_dimids
	Decomp DecompID   // 0 if not decomposed
	Record bool       // has the record dimension
}

// NewSchema returns an empty schema.
func NewSchema() *Schema { return new(Schema) }

// Err returns the first mistake made while building.
func (s *Schema) Err() error { return s.err }

func (s *Schema) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fault.Usage(format, args...)
	}
}

// Dim defines a dimension of n elements; Unlimited makes it the record dimension.
func (s *Schema) Dim(name string, n int64) DimID {
	if n < 0 {
		s.fail("dimension %q: length %d, want >= 0", name, n)
	}
	if s.files != nil {
		s.checkNewDim(cdf5.NormalName(name), n)
	}
	s.dims = append(s.dims, cdf5.Dim{Name: cdf5.NormalName(name), Len: n})
	return DimID(len(s.dims) - 1)
}

// Decomp defines a decomposition over the given dimensions, slowest first,
// without the record dimension.
func (s *Schema) Decomp(dims ...DimID) DecompID {
	if s.files != nil {
		s.fail("decomposition D%d: an append has those of the dataset", len(s.decomps)+1)
		return 0
	}
	if len(dims) == 0 {
		s.fail("decomposition D%d: no dimensions", len(s.decomps)+1)
	}
	for _, d := range dims {
		if !s.hasDim(d) {
			s.fail("decomposition D%d: dimension id %d, want < %d", len(s.decomps)+1, d, len(s.dims))
		} else if s.dims[d].Len == Unlimited {
			s.fail("decomposition D%d: dimension %q is unlimited", len(s.decomps)+1, s.dims[d].Name)
		}
	}
	s.decomps = append(s.decomps, slices.Clone(dims))
	return DecompID(len(s.decomps))
}

func (s *Schema) hasDim(d DimID) bool { return d >= 0 && int(d) < len(s.dims) }

// A VarOption is something that a variable may have.
type VarOption func(*Schema, *Variable)

// Decomposed says that the variable is written by decomposition d.
func Decomposed(d DecompID) VarOption {
	return func(s *Schema, v *Variable) { v.Decomp = d }
}

// Att gives the variable an attribute. value is a string, a number or a slice
// of numbers of one of the types of CDF-5.
func Att(name string, value any) VarOption {
	return func(s *Schema, v *Variable) {
		a, err := attOf(name, value)
		if err != nil {
			s.fail("variable %q: %v", v.Name, err)
		}
		v.Atts = append(v.Atts, a)
	}
}

// Atts gives the variable attributes that are made already.
func Atts(atts ...cdf5.Att) VarOption {
	return func(_ *Schema, v *Variable) { v.Atts = append(v.Atts, normalAtts(atts)...) }
}

// Var defines a variable. The record dimension, if it has it, comes first.
// A decomposed variable's other dimensions must have the lengths of the
// decomposition's, in the same order.
func (s *Schema) Var(name string, t cdf5.Type, dims []DimID, opts ...VarOption) VarID {
	v := Variable{Name: cdf5.NormalName(name), Type: t, Dims: slices.Clone(dims)}
	for i, d := range dims {
		if !s.hasDim(d) {
			s.fail("variable %q: dimension id %d, want < %d", name, d, len(s.dims))
			return -1
		}
		if s.dims[d].Len == Unlimited {
			if i > 0 {
				s.fail("variable %q: the unlimited dimension %q is not the first", name, s.dims[d].Name)
			}
			v.Record = true
		}
	}
	for _, o := range opts {
		o(s, &v)
	}
	if !t.Valid() {
		s.fail("variable %q: unknown type %d", name, t)
	}
	if v.Decomp != 0 {
		if v.Decomp < 0 || int(v.Decomp) > len(s.decomps) {
			s.fail("variable %q: decomposition D%d, want D1..D%d", name, v.Decomp, len(s.decomps))
		} else if !slices.Equal(s.shape(v.Dims, v.Record), s.DecompDims(v.Decomp)) {
			s.fail("variable %q: shape %v, but decomposition D%d is %v", name, s.shape(v.Dims, v.Record), v.Decomp, s.DecompDims(v.Decomp))
		}
	}
	for i := range v.Atts {
		s.checkLayoutAtt(v.Atts[i].Name)
	}
	if s.files != nil {
		s.checkNewVar(&v)
	}
	s.vars = append(s.vars, v)
	return VarID(len(s.vars) - 1)
}

// GlobalAtt adds a global attribute, with values as Att has them.
func (s *Schema) GlobalAtt(name string, value any) {
	a, err := attOf(name, value)
	if err != nil {
		s.fail("global attribute: %v", err)
	}
	s.checkNewAtt(-1, name)
	s.atts = append(s.atts, a)
}

// GlobalAtts adds global attributes that are made already.
func (s *Schema) GlobalAtts(atts ...cdf5.Att) {
	for i := range atts {
		s.checkNewAtt(-1, atts[i].Name)
	}
	s.atts = append(s.atts, normalAtts(atts)...)
}

// Dims returns the dimensions. The result must not be changed.
func (s *Schema) Dims() []cdf5.Dim { return s.dims }

// Attributes returns the global attributes. The result must not be changed.
func (s *Schema) Attributes() []cdf5.Att { return s.atts }

// Vars returns the variables. The result must not be changed.
func (s *Schema) Vars() []Variable { return s.vars }

// VarID returns the variable of this name.
func (s *Schema) VarID(name string) (VarID, bool) {
	name = cdf5.NormalName(name)
	for i := range s.vars {
		if s.vars[i].Name == name {
			return VarID(i), true
		}
	}
	return -1, false
}

// NumDecomps returns the number of decompositions.
func (s *Schema) NumDecomps() int { return len(s.decomps) }

// DecompDims returns the lengths of the dimensions of decomposition d, slowest first.
func (s *Schema) DecompDims(d DecompID) []int64 { return s.shape(s.decomps[d-1], false) }

// Shape returns the canonical lengths of a variable's dimensions, slowest
// first, without the record dimension.
func (s *Schema) Shape(v VarID) []int64 { return s.shape(s.vars[v].Dims, s.vars[v].Record) }

// Elems returns the number of elements of a fixed variable, or of one record.
func (s *Schema) Elems(v VarID) int64 { return product(s.Shape(v)) }

func (s *Schema) shape(dims []DimID, record bool) []int64 {
	if record {
		dims = dims[1:]
	}
	n := make([]int64, len(dims))
	for i, d := range dims {
		n[i] = s.dims[d].Len
	}
	return n
}

func product(n []int64) int64 {
	p := int64(1)
	for _, v := range n {
		p *= v
	}
	return p
}

// checkRecord is an error if the variable has no such record.
func (v *Variable) checkRecord(rec, records int64) error {
	if rec < 0 || v.Record && rec >= records || !v.Record && rec != 0 {
		return fmt.Errorf("record %d, want 0..%d", rec, max(records-1, 0))
	}
	return nil
}

// fillAtt returns the variable's _FillValue attribute, or nil.
func (v *Variable) fillAtt() *cdf5.Att {
	for i := range v.Atts {
		if v.Atts[i].Name == "_FillValue" && v.Atts[i].Type == v.Type {
			return &v.Atts[i]
		}
	}
	return nil
}

// attOf makes an attribute of a Go value.
func attOf(name string, value any) (cdf5.Att, error) {
	name = cdf5.NormalName(name)
	switch x := value.(type) {
	case string:
		return cdf5.Att{Name: name, Type: cdf5.Char, Value: x}, nil
	case int:
		if int(int32(x)) != x {
			return cdf5.Att{Name: name, Type: cdf5.Int64, Value: []int64{int64(x)}}, nil
		}
		value = []int32{int32(x)}
	default:
		if one, ok := elem.One(value); ok {
			value = one
		}
	}
	_, t, ok := cdf5.SliceLen(value)
	if !ok {
		return cdf5.Att{}, fmt.Errorf("attribute %q: values of type %T have no type in CDF-5", name, value)
	}
	return cdf5.Att{Name: name, Type: t, Value: value}, nil
}

// maxExtents is the most checksums of a subfile.
const maxExtents = 1 << 24

// canSum says whether a dataset may have so many records: of each record of a variable there is a checksum in
// the manifest, and a reader takes no more of them.
func (s *Schema) canSum(records int64) error {
	n := int64(0)
	for v := range s.vars {
		if s.vars[v].Record {
			n++
		}
	}
	if records > maxExtents/max(n, 1) {
		return fmt.Errorf("%d records of %d variables, want at most %d checksums: %w", records, n, maxExtents, ErrTooLarge)
	}
	return nil
}

// DecompDimIDs returns the dimensions of decomposition d, slowest first. The
// result must not be changed.
func (s *Schema) DecompDimIDs(d DecompID) []DimID {
	if d < 1 || int(d) > len(s.decomps) {
		return nil
	}
	return s.decomps[d-1]
}
