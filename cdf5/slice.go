package cdf5

import "blobio/internal/base/elem"

// SliceLen returns the length of a memory slice and its natural external type: Char for a string, UByte for []byte, Int64 for
// []int, UInt64 for []uint. ok is false for other types.
func SliceLen(v any) (n int, t Type, ok bool) {
	switch s := v.(type) {
	case string:
		return len(s), Char, true
	case []int:
		return len(s), Int64, true
	case []uint:
		return len(s), UInt64, true
	}
	e, b, ok := elem.Of(v)
	if !ok {
		return 0, 0, false
	}
	return len(b) / e.Size(), natural[e], true
}

// NewSlice returns a zeroed slice of n elements of the Go type for t: []byte for Char and UByte. It is nil for an unknown type.
func NewSlice(t Type, n int) any { return t.elem().Make(n) }

// View returns memory in native order as a slice of the Go type for t, the reverse of Bytes. It returns a copy if b is not
// aligned for that type, and nil for an unknown type.
func View(t Type, b []byte) any { return t.elem().View(b) }

// Bytes returns the memory of a slice as bytes in native order, without a copy. ok is false for a string, whose memory is
// read-only, and for types that SliceLen does not know.
func Bytes(v any) (b []byte, ok bool) {
	_, b, ok = elem.Of(elem.Fixed(v))
	return b, ok
}
