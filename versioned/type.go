package versioned

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"blobio/comm"
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

var types = [...]struct {
	name string
	size int
}{{}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"float32", 4}, {"float64", 8}}

func (t Type) valid() bool { return t >= Int8 && t <= Float64 }

// Size is the bytes of an element.
func (t Type) Size() int {
	if !t.valid() {
		return 0
	}
	return types[t].size
}

func (t Type) String() string {
	if !t.valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return types[t].name
}

// ParseType is the reverse of String.
func ParseType(s string) (Type, error) {
	for t := Int8; t <= Float64; t++ {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, usageErr("type %q, want int8 ... uint64, float32 or float64", s)
}

// TypeOf is the Type of a Go number.
func TypeOf[T comm.Number]() Type {
	var x T
	switch any(x).(type) {
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	case float64:
		return Float64
	}
	return 0
}

// Bytes views a slice of numbers as its memory.
func Bytes[T comm.Number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// view reads memory as numbers. It copies where the memory is not aligned for them.
func view[T comm.Number](b []byte) []T {
	var x T
	size := int(unsafe.Sizeof(x))
	if len(b) < size {
		return nil
	}
	p := unsafe.Pointer(&b[0])
	if uintptr(p)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(p), len(b)/size)
	}
	out := make([]T, len(b)/size)
	copy(Bytes(out), b)
	return out
}

var hostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// swap reverses the bytes of each element.
func swap(b []byte, size int) {
	for ; size > 1 && len(b) >= size; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}
