package dataset

import (
	"fmt"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Unlimited is the length of the record dimension.
const Unlimited int64 = 0

// DimID identifies a dimension of a Schema, in the order of definition from 0.
type DimID int

// VarID identifies a variable of a Schema, in the order of definition from 0.
type VarID int

// DecompID identifies a decomposition of a Schema. 1 is D1; 0 means no decomposition.
type DecompID int

// Schema is blob.Schema.
type Schema struct {
	Dims    []cdf5.Dim
	Atts    []cdf5.Att
	Vars    []Variable
	Decomps [][]DimID
	Err     error
	Extends *Extension // the existing dataset, or nil for the schema of a new dataset
}

// Variable is a variable of a Schema.
type Variable struct {
	Name   string
	Type   cdf5.Type  // in the file
	Dims   []DimID    // canonical, slowest first; a record dimension comes first
	Atts   []cdf5.Att // attributes other than decomposition_ID and global_dimids
	Decomp DecompID   // 0 without a decomposition
	Record bool       // has the record dimension
}

// NewSchema returns an empty schema.
func NewSchema() *Schema { return new(Schema) }

func (s *Schema) fail(format string, args ...any) {
	s.check(fault.Usage(format, args...))
}

// check keeps the first error of a definition.
func (s *Schema) check(err error) {
	if s.Err == nil {
		s.Err = err
	}
}

// Dim defines a dimension of n elements, or the record dimension if n is Unlimited.
func (s *Schema) Dim(name string, n int64) DimID {
	if n < 0 {
		s.fail("dimension %q: length %d, want >= 0", name, n)
	}
	if s.Extends != nil {
		s.check(s.Extends.newDim(s, cdf5.NormalName(name), n))
	}
	s.Dims = append(s.Dims, cdf5.Dim{Name: cdf5.NormalName(name), Len: n})
	return DimID(len(s.Dims) - 1)
}

// Decomp is blob.Schema.Decomp.
func (s *Schema) Decomp(dims ...DimID) DecompID {
	if s.Extends != nil {
		s.fail("decomposition D%d is new, but an append cannot add decompositions", len(s.Decomps)+1)
		return 0
	}
	if len(dims) == 0 {
		s.fail("decomposition D%d has no dimensions", len(s.Decomps)+1)
	}
	for _, d := range dims {
		if !s.hasDim(d) {
			s.fail("decomposition D%d: dimension id %d, want < %d", len(s.Decomps)+1, d, len(s.Dims))
		} else if s.Dims[d].Len == Unlimited {
			s.fail("decomposition D%d: dimension %q is unlimited", len(s.Decomps)+1, s.Dims[d].Name)
		}
	}
	s.Decomps = append(s.Decomps, slices.Clone(dims))
	return DecompID(len(s.Decomps))
}

func (s *Schema) hasDim(d DimID) bool { return d >= 0 && int(d) < len(s.Dims) }

// VarOption sets an optional property of a variable.
type VarOption func(*Schema, *Variable)

// Decomposed gives the variable the decomposition d.
func Decomposed(d DecompID) VarOption {
	return func(s *Schema, v *Variable) { v.Decomp = d }
}

// Att is blob.Att.
func Att(name string, value any) VarOption {
	return func(s *Schema, v *Variable) {
		a, err := AttOf(name, value)
		if err != nil {
			s.fail("variable %q: %v", v.Name, err)
		}
		v.Atts = append(v.Atts, a)
	}
}

// Atts adds attributes to the variable.
func Atts(atts ...cdf5.Att) VarOption {
	return func(_ *Schema, v *Variable) { v.Atts = append(v.Atts, normalAtts(atts)...) }
}

// Var is blob.Schema.Var.
func (s *Schema) Var(name string, t cdf5.Type, dims []DimID, opts ...VarOption) VarID {
	v := Variable{Name: cdf5.NormalName(name), Type: t, Dims: slices.Clone(dims)}
	for i, d := range dims {
		if !s.hasDim(d) {
			s.fail("variable %q: dimension id %d, want < %d", name, d, len(s.Dims))
			return -1
		}
		if s.Dims[d].Len == Unlimited {
			if i > 0 {
				s.fail("variable %q: the unlimited dimension %q is not the first", name, s.Dims[d].Name)
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
		if v.Decomp < 0 || int(v.Decomp) > len(s.Decomps) {
			s.fail("variable %q: decomposition D%d, want D1..D%d", name, v.Decomp, len(s.Decomps))
		} else if !slices.Equal(s.ShapeOf(v.Dims, v.Record), s.DecompDims(v.Decomp)) {
			s.fail("variable %q has shape %v, but decomposition D%d has %v", name, s.ShapeOf(v.Dims, v.Record), v.Decomp, s.DecompDims(v.Decomp))
		}
	}
	for i := range v.Atts {
		s.check(layoutAtt(v.Atts[i].Name))
	}
	if s.Extends != nil {
		s.check(s.Extends.newVar(s, &v))
	}
	s.Vars = append(s.Vars, v)
	return VarID(len(s.Vars) - 1)
}

// GlobalAtt adds a global attribute. It accepts the values of Att.
func (s *Schema) GlobalAtt(name string, value any) {
	a, err := AttOf(name, value)
	if err != nil {
		s.fail("global attribute: %v", err)
	}
	s.check(s.Extends.newAtt(-1, name))
	s.Atts = append(s.Atts, a)
}

// Attributes returns the global attributes. The result must not be changed.
func (s *Schema) Attributes() []cdf5.Att { return s.Atts }

// VarID returns the variable of this name.
func (s *Schema) VarID(name string) (VarID, bool) {
	name = cdf5.NormalName(name)
	for i := range s.Vars {
		if s.Vars[i].Name == name {
			return VarID(i), true
		}
	}
	return -1, false
}

// VarIDs returns all variables by name.
func (s *Schema) VarIDs() map[string]VarID {
	ids := make(map[string]VarID, len(s.Vars))
	for i := range s.Vars {
		ids[s.Vars[i].Name] = VarID(i)
	}
	return ids
}

// NumDecomps returns the number of decompositions.
func (s *Schema) NumDecomps() int { return len(s.Decomps) }

// DecompDims returns the lengths of the dimensions of decomposition d, slowest first.
func (s *Schema) DecompDims(d DecompID) []int64 { return s.ShapeOf(s.Decomps[d-1], false) }

// Shape is blob.Schema.Shape.
func (s *Schema) Shape(v VarID) []int64 { return s.ShapeOf(s.Vars[v].Dims, s.Vars[v].Record) }

// Elems returns the number of elements of a fixed variable, or of one record.
func (s *Schema) Elems(v VarID) int64 { return Product(s.Shape(v)) }

func (s *Schema) ShapeOf(dims []DimID, record bool) []int64 {
	if record {
		dims = dims[1:]
	}
	n := make([]int64, len(dims))
	for i, d := range dims {
		n[i] = s.Dims[d].Len
	}
	return n
}

func Product(n []int64) int64 {
	p := int64(1)
	for _, v := range n {
		p *= v
	}
	return p
}

// CheckRecord returns an error if the variable lacks this record.
func (v *Variable) CheckRecord(rec, records int64) error {
	if rec < 0 || v.Record && rec >= records || !v.Record && rec != 0 {
		if !v.Record {
			records = 1
		}
		return fmt.Errorf("record %d, want %s", rec, fault.Below(records, "records"))
	}
	return nil
}

// FillAtt returns the variable's _FillValue attribute, or nil.
func (v *Variable) FillAtt() *cdf5.Att {
	for i := range v.Atts {
		if v.Atts[i].Name == "_FillValue" && v.Atts[i].Type == v.Type {
			return &v.Atts[i]
		}
	}
	return nil
}

// AttOf makes an attribute of a Go value.
func AttOf(name string, value any) (cdf5.Att, error) {
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
		return cdf5.Att{}, fmt.Errorf("attribute %q: CDF-5 has no type for values of type %T", name, value)
	}
	return cdf5.Att{Name: name, Type: t, Value: value}, nil
}

// MaxExtents is the maximum number of extents, and thus of checksums, of a subfile.
const MaxExtents = 1 << 24

// CanSum returns an error if the number of records is too large. Each record of a variable has a checksum in the manifest, and
// readers limit the number of checksums.
func (s *Schema) CanSum(records int64) error {
	n := int64(0)
	for v := range s.Vars {
		if s.Vars[v].Record {
			n++
		}
	}
	if records > MaxExtents/max(n, 1) {
		return fmt.Errorf("%d records of %d variables need more than %d checksums: %w", records, n, MaxExtents, ErrTooLarge)
	}
	return nil
}

// DecompDimIDs is blob.Schema.DecompDimIDs.
func (s *Schema) DecompDimIDs(d DecompID) []DimID {
	if d < 1 || int(d) > len(s.Decomps) {
		return nil
	}
	return s.Decomps[d-1]
}
