package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/cdf5"
)

// A Schema says what a dataset holds, in canonical terms: dimensions,
// attributes, variables, and which of them are decomposed. Names are kept, and
// looked up, in Unicode normal form C, as the netCDF libraries do. It is built once,
// then shared by all ranks of a process; it must not be changed after it was
// given to Create. Mistakes made while building are kept and reported by Err,
// and by Create.
type Schema struct{ s *dataset.Schema }

func (s *Schema) inner() *dataset.Schema {
	if s == nil {
		return nil
	}
	return s.s
}

// Number is an element type of memory that can be put and read.
type Number = dataset.Number

// DimID names a dimension of a Schema, in the order of definition from 0.
type DimID = dataset.DimID

// VarID names a variable of a Schema, in the order of definition from 0.
type VarID = dataset.VarID

// DecompID names a decomposition of a Schema: D1 is 1. 0 means not decomposed.
type DecompID = dataset.DecompID

// A Variable of a Schema.
type Variable = dataset.Variable

// A VarOption is something that a variable may have.
type VarOption = dataset.VarOption

// Unlimited is the length of the record dimension.
const (
	Unlimited = dataset.Unlimited
)

// NewSchema returns an empty schema.
func NewSchema() *Schema { return &Schema{dataset.NewSchema()} }

// Decomposed says that the variable is written by decomposition d.
func Decomposed(d DecompID) VarOption { return dataset.Decomposed(d) }

// Att gives the variable an attribute. value is a string, a number or a slice
// of numbers of one of the types of CDF-5.
func Att(name string, value any) VarOption { return dataset.Att(name, value) }

// Err returns the first mistake made while building.
func (s *Schema) Err() error { return s.s.Err }

// Dim defines a dimension of n elements; Unlimited makes it the record dimension.
func (s *Schema) Dim(name string, n int64) DimID { return s.s.Dim(name, n) }

// Decomp defines a decomposition over the given dimensions, slowest first,
// without the record dimension.
func (s *Schema) Decomp(dims ...DimID) DecompID { return s.s.Decomp(dims...) }

// Var defines a variable. The record dimension, if it has it, comes first.
// A decomposed variable's other dimensions must have the lengths of the
// decomposition's, in the same order.
func (s *Schema) Var(name string, t cdf5.Type, dims []DimID, opts ...VarOption) VarID {
	return s.s.Var(name, t, dims, opts...)
}

// GlobalAtt adds a global attribute, with values as Att has them.
func (s *Schema) GlobalAtt(name string, value any) { s.s.GlobalAtt(name, value) }

// Dims returns the dimensions. The result must not be changed.
func (s *Schema) Dims() []cdf5.Dim { return s.s.Dims }

// Attributes returns the global attributes. The result must not be changed.
func (s *Schema) Attributes() []cdf5.Att { return s.s.Attributes() }

// Vars returns the variables. The result must not be changed.
func (s *Schema) Vars() []Variable { return s.s.Vars }

// VarID returns the variable of this name.
func (s *Schema) VarID(name string) (VarID, bool) { return s.s.VarID(name) }

// NumDecomps returns the number of decompositions.
func (s *Schema) NumDecomps() int { return s.s.NumDecomps() }

// DecompDims returns the lengths of the dimensions of decomposition d, slowest first.
func (s *Schema) DecompDims(d DecompID) []int64 { return s.s.DecompDims(d) }

// Shape returns the canonical lengths of a variable's dimensions, slowest
// first, without the record dimension.
func (s *Schema) Shape(v VarID) []int64 { return s.s.Shape(v) }

// Elems returns the number of elements of a fixed variable, or of one record.
func (s *Schema) Elems(v VarID) int64 { return s.s.Elems(v) }

// DecompDimIDs returns the dimensions of decomposition d, slowest first. The
// result must not be changed.
func (s *Schema) DecompDimIDs(d DecompID) []DimID { return s.s.DecompDimIDs(d) }

// SetAtt gives a variable that was defined before an attribute, or the schema
// itself if v is -1. One of the same name is replaced. Like all building, it must not be done
// after the schema was given to Create.
func (s *Schema) SetAtt(v VarID, a cdf5.Att) { s.s.SetAtt(v, a) }
