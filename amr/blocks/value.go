package blocks

import (
	"slices"
	"strings"

	"blobio/amr"
	"blobio/cdf5"
	"blobio/internal/elem"
)

// fileTypes are the types of CDF-5 for those of fields and particles.
var fileTypes = [...]cdf5.Type{0, amr.Float32: cdf5.Float, amr.Float64: cdf5.Double, amr.Int8: cdf5.Byte, amr.Int16: cdf5.Short, amr.Int32: cdf5.Int, amr.Int64: cdf5.Int64}

// typeOf is the reverse; 0 if there is none.
func typeOf(t cdf5.Type) amr.Type { return amr.Type(max(slices.Index(fileTypes[:], t), 0)) }

// kind says what a value was before it became a slice.
type kind int32

const (
	isSlice   kind = iota
	isScalar       // a number, or a string
	isStrings      // []string: each string and a zero byte, as Char
)

// toSlice makes a slice that cdf5 knows of the value of a further attribute.
func toSlice(v any) (s any, t cdf5.Type, k kind, ok bool) {
	switch v := v.(type) {
	case string:
		return []byte(v), cdf5.Char, isScalar, true
	case []string:
		b := []byte{}
		for _, x := range v {
			b = append(append(b, x...), 0)
		}
		return b, cdf5.Char, isStrings, true
	case []int, []uint, nil:
		return nil, 0, 0, false // not the same on all machines
	}
	if s, ok := elem.One(v); ok {
		v, k = s, isScalar
	}
	_, t, ok = cdf5.SliceLen(v)
	return v, t, k, ok
}

// fromSlice is the reverse of toSlice.
func fromSlice(s any, t cdf5.Type, k kind) any {
	if b, ok := s.([]byte); ok && t == cdf5.Char {
		s = string(b)
	}
	if x, ok := s.(string); ok && k == isStrings {
		list := strings.Split(x, "\x00")
		return list[:len(list)-1]
	}
	if k != isScalar {
		return s
	}
	if t, b, ok := elem.Of(s); ok && len(b) == t.Size() {
		return elem.At(s, 0)
	}
	return s
}

// bytesOf is the memory of a slice, in the order of the machine.
func bytesOf(s any) []byte {
	b, _ := cdf5.Bytes(s)
	return b
}
