package amr

import (
	"fmt"

	"blobio/internal/base/elem"
)

// Type is the type of the elements of a field or of a particle attribute.
type Type uint8

// Types of elements. The zero Type is not valid.
const (
	Float32 Type = iota + 1
	Float64
	Int8
	Int16
	Int32
	Int64
)

// elems maps types to the types of package elem.
var elems = [...]elem.Type{0, Float32: elem.Float32, Float64: elem.Float64, Int8: elem.Int8, Int16: elem.Int16, Int32: elem.Int32, Int64: elem.Int64}

func (t Type) elem() elem.Type {
	if !t.Valid() {
		return 0
	}
	return elems[t]
}

// Valid reports whether t is one of the types.
func (t Type) Valid() bool { return t >= Float32 && t <= Int64 }

// Size returns the size of an element in bytes, or 0 if t is not valid.
func (t Type) Size() int { return t.elem().Size() }

// Float reports whether t is a floating-point type.
func (t Type) Float() bool { return t.elem().Float() }

// String returns the name: "float32", ...
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return t.elem().String()
}
