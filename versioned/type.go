package versioned

import (
	"fmt"

	"blobio/comm"
	"blobio/internal/elem"
	"blobio/internal/fault"
)

// Type of the elements of an array.
type Type uint8

const (
	Int8 Type = iota + 1
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
)

// codes are the types as package elem knows them.
var codes = [...]elem.Type{0, Int8: elem.Int8, Int16: elem.Int16, Int32: elem.Int32, Int64: elem.Int64,
	Uint8: elem.Uint8, Uint16: elem.Uint16, Uint32: elem.Uint32, Uint64: elem.Uint64, Float32: elem.Float32, Float64: elem.Float64}

func (t Type) valid() bool { return t >= Int8 && t <= Float64 }

func (t Type) elem() elem.Type {
	if !t.valid() {
		return 0
	}
	return codes[t]
}

// Size is the bytes of an element.
func (t Type) Size() int { return t.elem().Size() }

func (t Type) String() string {
	if !t.valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return t.elem().String()
}

// parseType is the reverse of String.
func parseType(s string) (Type, error) {
	if t := elem.Code(codes[:], elem.Parse(s)); t != 0 {
		return Type(t), nil
	}
	return 0, fault.Usage("type %q, want int8 ... uint64, float32 or float64", s)
}

// typeOf is the Type of a Go number.
func typeOf[T comm.Number]() Type { return Type(elem.Code(codes[:], elem.TypeOf[T]())) }

// Bytes views a slice of numbers as its memory.
func Bytes[T comm.Number](v []T) []byte { return elem.Bytes(v) }
