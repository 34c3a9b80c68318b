package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/cdf5"
)

// A Schema describes the content of a dataset in canonical terms: dimensions, attributes, variables, and the decomposition of
// each variable. Names are stored and looked up in Unicode normal form C, as in the netCDF libraries. Build a Schema once and
// share it among all ranks of a process. It must not change after Create. Err and Create report mistakes in its definitions.
type Schema struct{ s *dataset.Schema }

func (s *Schema) inner() *dataset.Schema {
	if s == nil {
		return nil
	}
	return s.s
}

// Number is the type of elements in memory, for Put and Read.
type Number = dataset.Number

// DimID is the index of a dimension in a Schema, from 0, in the order of definition.
type DimID = dataset.DimID

// VarID is the index of a variable in a Schema, from 0, in the order of definition.
type VarID = dataset.VarID

// DecompID is the number of a decomposition in a Schema: 1 for D1. 0 means no decomposition.
type DecompID = dataset.DecompID

// A Variable is a variable of a Schema.
type Variable = dataset.Variable

// A VarOption is an optional property of a variable, for Var.
type VarOption = dataset.VarOption

// Unlimited is the length of the record dimension.
const (
	Unlimited = dataset.Unlimited
)

// NewSchema returns an empty schema.
func NewSchema() *Schema { return &Schema{dataset.NewSchema()} }

// Decomposed gives the variable decomposition d.
func Decomposed(d DecompID) VarOption { return dataset.Decomposed(d) }

// Att gives the variable an attribute. value is a string, a number or a slice of numbers of a CDF-5 type.
func Att(name string, value any) VarOption { return dataset.Att(name, value) }

// Err returns the first mistake in the definitions.
func (s *Schema) Err() error { return s.s.Err }

// Dim defines a dimension of n elements; Unlimited makes it the record dimension.
func (s *Schema) Dim(name string, n int64) DimID { return s.s.Dim(name, n) }

// Decomp defines a decomposition over the given dimensions, slowest first,
// without the record dimension.
func (s *Schema) Decomp(dims ...DimID) DecompID { return s.s.Decomp(dims...) }

// Var defines a variable. The record dimension, if the variable has it, comes first. The other dimensions of a decomposed
// variable must equal the dimensions of its decomposition in number, length and order.
func (s *Schema) Var(name string, t cdf5.Type, dims []DimID, opts ...VarOption) VarID {
	return s.s.Var(name, t, dims, opts...)
}

// GlobalAtt adds a global attribute. value has the types that Att accepts.
func (s *Schema) GlobalAtt(name string, value any) { s.s.GlobalAtt(name, value) }

// Dims returns the dimensions. The caller must not change the result.
func (s *Schema) Dims() []cdf5.Dim { return s.s.Dims }

// Attributes returns the global attributes. The caller must not change the result.
func (s *Schema) Attributes() []cdf5.Att { return s.s.Attributes() }

// Vars returns the variables. The caller must not change the result.
func (s *Schema) Vars() []Variable { return s.s.Vars }

// VarID returns the id of the variable with this name.
func (s *Schema) VarID(name string) (VarID, bool) { return s.s.VarID(name) }

// NumDecomps returns the number of decompositions.
func (s *Schema) NumDecomps() int { return s.s.NumDecomps() }

// DecompDims returns the lengths of the dimensions of decomposition d, slowest first.
func (s *Schema) DecompDims(d DecompID) []int64 { return s.s.DecompDims(d) }

// Shape returns the canonical lengths of a variable's dimensions, slowest
// first, without the record dimension.
func (s *Schema) Shape(v VarID) []int64 { return s.s.Shape(v) }

// Elems returns the number of elements of a fixed variable, or of one record of a record variable.
func (s *Schema) Elems(v VarID) int64 { return s.s.Elems(v) }

// DecompDimIDs returns the dimensions of decomposition d, slowest first. The caller must not change the result.
func (s *Schema) DecompDimIDs(d DecompID) []DimID { return s.s.DecompDimIDs(d) }

// SetAtt sets an attribute of variable v, or a global attribute if v is -1. It replaces an attribute of the same name. Do not
// call SetAtt after Create.
func (s *Schema) SetAtt(v VarID, a cdf5.Att) { s.s.SetAtt(v, a) }
