package elem

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// HostBig reports whether this machine stores the high byte first.
var HostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// HostOrder is the byte order of this machine.
func HostOrder() binary.ByteOrder {
	if HostBig {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Bytes returns the memory of a slice as bytes in the order of the machine, without a copy.
func Bytes[T Real](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// View returns memory as numbers, the reverse of Bytes. It drops bytes after the last whole number. It returns a copy if b is not
// aligned for T.
func View[T Real](b []byte) []T {
	var x T
	n := len(b) / int(unsafe.Sizeof(x))
	if n == 0 {
		return []T{}
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(x) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	s := make([]T, n)
	copy(Bytes(s), b)
	return s
}

// Of returns the element type of a slice of numbers, and its memory as bytes in native order, without a copy. ok is false for any
// other value. []int and []uint have no Type, because their size depends on the machine.
func Of(v any) (t Type, b []byte, ok bool) { // the types
	switch s := v.(type) {
	case []int8:
		return Int8, Bytes(s), true
	case []int16:
		return Int16, Bytes(s), true
	case []int32:
		return Int32, Bytes(s), true
	case []int64:
		return Int64, Bytes(s), true
	case []uint8:
		return Uint8, s, true
	case []uint16:
		return Uint16, Bytes(s), true
	case []uint32:
		return Uint32, Bytes(s), true
	case []uint64:
		return Uint64, Bytes(s), true
	case []float32:
		return Float32, Bytes(s), true
	case []float64:
		return Float64, Bytes(s), true
	}
	return 0, nil, false
}

// TypeOf returns the Type of T, or 0 if T has no Type.
func TypeOf[T any]() Type {
	t, _, _ := Of([]T(nil))
	return t
}

// Fixed returns []int and []uint as slices of 32-bit or 64-bit integers, without a copy. It returns other values unchanged.
func Fixed(v any) any {
	switch s := v.(type) {
	case []int:
		return fixed(s, Int32, Int64)
	case []uint:
		return fixed(s, Uint32, Uint64)
	}
	return v
}

func fixed[T int | uint](s []T, short, long Type) any {
	if unsafe.Sizeof(T(0)) == 8 {
		short = long
	}
	return short.View(Bytes(s))
}

// Make returns a zeroed slice of n elements, or nil for an invalid type.
func (t Type) Make(n int) any {
	if !t.Valid() {
		return nil
	}
	return kinds[t].make(n)
}

// View returns memory as a slice of t, like the function View, or nil for an invalid type.
func (t Type) View(b []byte) any {
	if !t.Valid() {
		return nil
	}
	return kinds[t].view(b)
}

// Sub returns elements [lo, hi) of a slice of numbers, as a slice of the same memory.
func Sub(slice any, lo, hi int) any {
	t, b, _ := Of(slice)
	return t.View(b[lo*t.Size() : hi*t.Size() : hi*t.Size()])
}

// At returns element i of a slice.
func At(slice any, i int) any { return reflect.ValueOf(slice).Index(i).Interface() }

// One returns a slice with the number x. ok is false if x has no Type.
func One(x any) (slice any, ok bool) {
	v := reflect.ValueOf(x)
	if !v.IsValid() || Parse(v.Type().String()) == 0 {
		return nil, false
	}
	s := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
	s.Index(0).Set(v)
	return s.Interface(), true
}

// Reorder copies elements of size bytes from src to dst. It converts between native order and the order of a file, which is
// big-endian if big and otherwise little-endian. dst may be src.
func Reorder(dst, src []byte, size int, big bool) {
	if big == HostBig {
		copy(dst, src)
	} else {
		Swap(dst, src, size)
	}
}
