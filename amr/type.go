package amr

import "fmt"

// Type is the type of the elements of a field or of a particle attribute.
type Type uint8

// Types of elements. The zero Type is not one.
const (
	Float32 Type = iota + 1
	Float64
	Int8
	Int16
	Int32
	Int64
)

var typeNames = [...]string{"invalid", "float32", "float64", "int8", "int16", "int32", "int64"}
var typeSizes = [...]int{0, 4, 8, 1, 2, 4, 8}

// Valid says whether t is one of the types.
func (t Type) Valid() bool { return t >= Float32 && t <= Int64 }

// Size returns the bytes of an element; 0 if t is not valid.
func (t Type) Size() int {
	if !t.Valid() {
		return 0
	}
	return typeSizes[t]
}

// Float says whether t is a floating-point type.
func (t Type) Float() bool { return t == Float32 || t == Float64 }

// String returns the name: "float32", ...
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return typeNames[t]
}
