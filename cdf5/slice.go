package cdf5

import "blobio/internal/base/elem"

// SliceLen returns the length of a memory slice and the external type that is
// natural for it: Char for a string, UByte for []byte, Int64 for []int, UInt64
// for []uint. ok is false for anything that is not such a slice.
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

// NewSlice returns a zeroed slice of n elements of the Go type that matches
// t: []byte for Char and UByte. It is nil for an unknown type.
func NewSlice(t Type, n int) any { return t.elem().Make(n) }

// View returns memory in the order of the machine as a slice of the Go type that matches t, the reverse of Bytes. It is
// a copy where b is not aligned for that type, and nil for an unknown type.
func View(t Type, b []byte) any { return t.elem().View(b) }

// Bytes returns the memory of a slice as bytes in the order of the machine,
// without a copy: writing to one writes to the other. ok is false for a string
// (its memory is read-only) and for what SliceLen does not know.
func Bytes(v any) (b []byte, ok bool) {
	_, b, ok = elem.Of(elem.Fixed(v))
	return b, ok
}
