package elem

import (
	"fmt"
	"unsafe"
)

// Type is the type of an element. The zero Type is invalid.
type Type uint8

// The types.
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
	numTypes = iota + 1
)

// Number is an element type with a Type.
type Number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Real is any number type, including named types.
type Real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~int | ~uint
}

type kind struct {
	name          string
	size, align   int
	signed, float bool
	make          func(n int) any
	view          func(b []byte) any
}

var kinds = [numTypes]kind{
	Int8: kindOf[int8](), Int16: kindOf[int16](), Int32: kindOf[int32](), Int64: kindOf[int64](),
	Uint8: kindOf[uint8](), Uint16: kindOf[uint16](), Uint32: kindOf[uint32](), Uint64: kindOf[uint64](),
	Float32: kindOf[float32](), Float64: kindOf[float64](),
}

func kindOf[T Number]() kind {
	var x T
	return kind{
		name: fmt.Sprintf("%T", x), size: int(unsafe.Sizeof(x)), align: int(unsafe.Alignof(x)),
		signed: IsSigned[T](), float: IsFloat[T](),
		make: func(n int) any { return make([]T, n) },
		view: func(b []byte) any { return View[T](b) },
	}
}

// IsFloat reports whether T is a floating-point type.
func IsFloat[T Real]() bool {
	x := T(1)
	return x/2 != 0
}

// IsSigned reports whether T has negative values.
func IsSigned[T Real]() bool {
	x := T(0)
	return x-1 < x
}

// Valid reports whether t is one of the types.
func (t Type) Valid() bool { return t-1 < numTypes-1 }

func (t Type) kind() *kind {
	if !t.Valid() {
		return &kinds[0]
	}
	return &kinds[t]
}

// Size returns the size of an element in bytes, or 0 for an invalid type.
func (t Type) Size() int { return t.kind().size }

// Align returns the alignment of an element in bytes.
func (t Type) Align() int { return t.kind().align }

// Float reports whether t is a floating-point type.
func (t Type) Float() bool { return t.kind().float }

// Signed reports whether t has negative values.
func (t Type) Signed() bool { return t.kind().signed }

// String returns the Go name of the type, such as "int8".
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return kinds[t].name
}

// Parse returns the type with this name, or 0 for an unknown name.
func Parse(name string) Type {
	for t := Type(1); t.Valid(); t++ {
		if kinds[t].name == name {
			return t
		}
	}
	return 0
}

// Holds reports whether t can hold every value of type v.
func (t Type) Holds(v Type) bool {
	switch {
	case !t.Valid() || !v.Valid() || t.Float() != v.Float() || v.Signed() && !t.Signed():
		return false
	case t.Signed() != v.Signed():
		return t.Size() > v.Size()
	}
	return t.Size() >= v.Size()
}
