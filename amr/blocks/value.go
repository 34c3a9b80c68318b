package blocks

import (
	"slices"
	"strings"

	"blobio/amr"
	"blobio/cdf5"
)

// fileTypes are the types of CDF-5 for those of fields and particles.
var fileTypes = map[amr.Type]cdf5.Type{amr.Float32: cdf5.Float, amr.Float64: cdf5.Double, amr.Int8: cdf5.Byte,
	amr.Int16: cdf5.Short, amr.Int32: cdf5.Int, amr.Int64: cdf5.Int64}

// typeOf is the reverse; 0 if there is none.
func typeOf(t cdf5.Type) amr.Type {
	for a, c := range fileTypes {
		if c == t {
			return a
		}
	}
	return 0
}

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
	case int8:
		return []int8{v}, cdf5.Byte, isScalar, true
	case int16:
		return []int16{v}, cdf5.Short, isScalar, true
	case int32:
		return []int32{v}, cdf5.Int, isScalar, true
	case int64:
		return []int64{v}, cdf5.Int64, isScalar, true
	case uint8:
		return []uint8{v}, cdf5.UByte, isScalar, true
	case uint16:
		return []uint16{v}, cdf5.UShort, isScalar, true
	case uint32:
		return []uint32{v}, cdf5.UInt, isScalar, true
	case uint64:
		return []uint64{v}, cdf5.UInt64, isScalar, true
	case float32:
		return []float32{v}, cdf5.Float, isScalar, true
	case float64:
		return []float64{v}, cdf5.Double, isScalar, true
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
	_, t, ok = cdf5.SliceLen(v)
	if _, is := v.([]byte); is {
		t = cdf5.UByte
	}
	return v, t, isSlice, ok
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
	if n, _, ok := cdf5.SliceLen(s); !ok || n != 1 {
		return s
	}
	switch s := s.(type) {
	case []int8:
		return s[0]
	case []int16:
		return s[0]
	case []int32:
		return s[0]
	case []int64:
		return s[0]
	case []uint8:
		return s[0]
	case []uint16:
		return s[0]
	case []uint32:
		return s[0]
	case []uint64:
		return s[0]
	case []float32:
		return s[0]
	case []float64:
		return s[0]
	}
	return s
}

// bytesOf is the memory of a slice, in the order of the machine.
func bytesOf(s any) []byte {
	b, _ := cdf5.Bytes(s)
	return b
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
