package cdf5

import (
	"encoding/binary"
	"unsafe"
)

// hostBig tells whether this machine stores the high byte first.
var hostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// number is an element of a memory slice.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | int | uint | float32 | float64
}

// SliceLen returns the length of a memory slice and the external type that is
// natural for it: Char for a string, UByte for []byte, Int64 for []int, UInt64
// for []uint. ok is false for anything that is not such a slice.
func SliceLen(v any) (n int, t Type, ok bool) {
	switch s := v.(type) {
	case string:
		return len(s), Char, true
	case []int8:
		return len(s), Byte, true
	case []int16:
		return len(s), Short, true
	case []int32:
		return len(s), Int, true
	case []int64:
		return len(s), Int64, true
	case []int:
		return len(s), Int64, true
	case []uint8:
		return len(s), UByte, true
	case []uint16:
		return len(s), UShort, true
	case []uint32:
		return len(s), UInt, true
	case []uint64:
		return len(s), UInt64, true
	case []uint:
		return len(s), UInt64, true
	case []float32:
		return len(s), Float, true
	case []float64:
		return len(s), Double, true
	}
	return 0, 0, false
}

// exactSlice tells whether the elements of v have the size of their natural
// type on every machine: []int and []uint do not.
func exactSlice(v any) bool {
	switch v.(type) {
	case []int, []uint:
		return false
	}
	return true
}

// NewSlice returns a zeroed slice of n elements of the Go type that matches
// t: []byte for Char and UByte. It is nil for an unknown type.
func NewSlice(t Type, n int) any {
	switch t {
	case Byte:
		return make([]int8, n)
	case Char, UByte:
		return make([]uint8, n)
	case Short:
		return make([]int16, n)
	case Int:
		return make([]int32, n)
	case Float:
		return make([]float32, n)
	case Double:
		return make([]float64, n)
	case UShort:
		return make([]uint16, n)
	case UInt:
		return make([]uint32, n)
	case Int64:
		return make([]int64, n)
	case UInt64:
		return make([]uint64, n)
	}
	return nil
}

// Bytes returns the memory of a slice as bytes in the order of the machine,
// without a copy: writing to one writes to the other. ok is false for a string
// (its memory is read-only) and for what SliceLen does not know.
func Bytes(v any) (b []byte, ok bool) {
	switch s := v.(type) {
	case []int8:
		return view(s), true
	case []int16:
		return view(s), true
	case []int32:
		return view(s), true
	case []int64:
		return view(s), true
	case []int:
		return view(s), true
	case []uint8:
		return s, true
	case []uint16:
		return view(s), true
	case []uint32:
		return view(s), true
	case []uint64:
		return view(s), true
	case []uint:
		return view(s), true
	case []float32:
		return view(s), true
	case []float64:
		return view(s), true
	}
	return nil, false
}

// view is the one use of unsafe in this package. It only ever goes from a
// typed slice to its bytes, which is right for every alignment. Without it,
// copying a []float64 to bytes in the machine's own order is a loop.
func view[T number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	var x T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(x)))
}
