package netcdf

import (
	"blobio/cdf5"
	"blobio/internal/amr"
	"blobio/internal/base/elem"
)

// fileTypes maps the types of fields and particles to CDF-5 types.
var fileTypes = [...]cdf5.Type{0, amr.Float32: cdf5.Float, amr.Float64: cdf5.Double, amr.Int8: cdf5.Byte, amr.Int16: cdf5.Short, amr.Int32: cdf5.Int, amr.Int64: cdf5.Int64}

// kind is the kind of the values of a further attribute.
type kind int32

const (
	isNumbers kind = 0
	isStrings kind = 2 // strings as Char, each followed by a zero byte
)

// toSlice converts the value of a further attribute to a slice that cdf5 supports.
func toSlice(v any) (s any, t cdf5.Type, k kind, ok bool) {
	if list, is := v.([]string); is {
		b := []byte{}
		for _, x := range list {
			b = append(append(b, x...), 0)
		}
		return b, cdf5.Char, isStrings, true
	}
	_, t, ok = cdf5.SliceLen(v)
	return v, t, isNumbers, ok
}

// att returns an attribute with text, numbers, or one number.
func att(name string, v any) cdf5.Att {
	if text, ok := v.(string); ok {
		return cdf5.Att{Name: name, Type: cdf5.Char, Value: text}
	}
	if s, ok := elem.One(v); ok {
		v = s
	}
	_, t, _ := cdf5.SliceLen(v)
	return cdf5.Att{Name: name, Type: t, Value: v}
}

// bytesOf returns the memory of a slice, in the byte order of the host.
func bytesOf(s any) []byte {
	b, _ := cdf5.Bytes(s)
	return b
}
