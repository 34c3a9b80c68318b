package dap

import (
	"encoding/binary"
	"math"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

type kind uint8

const (
	dapByte kind = iota
	dapInt16
	dapInt32
	dapFloat32
	dapFloat64
	dapString
)

var kindNames = [...]string{dapByte: "Byte", dapInt16: "Int16", dapInt32: "Int32", dapFloat32: "Float32", dapFloat64: "Float64", dapString: "String"}

func (k kind) String() string { return kindNames[k] }

// wire returns the size of a number in XDR, in bytes: 16-bit numbers take 4. Bytes in an array are packed.
func (k kind) wire() int64 {
	switch k {
	case dapByte:
		return 1
	case dapFloat64:
		return 8
	}
	return 4
}

// kinds maps CDF types to DAP2 types; elems maps them to the types of values in memory.
var kinds = [...]kind{cdf5.Byte: dapByte, cdf5.Char: dapString, cdf5.Short: dapInt16, cdf5.Int: dapInt32, cdf5.Float: dapFloat32, cdf5.Double: dapFloat64,
	cdf5.UByte: dapInt16, cdf5.UShort: dapInt32, cdf5.UInt: dapFloat64, cdf5.Int64: dapFloat64, cdf5.UInt64: dapFloat64}

var elems = [...]elem.Type{cdf5.Byte: elem.Int8, cdf5.Char: elem.Uint8, cdf5.Short: elem.Int16, cdf5.Int: elem.Int32, cdf5.Float: elem.Float32, cdf5.Double: elem.Float64,
	cdf5.UByte: elem.Uint8, cdf5.UShort: elem.Uint16, cdf5.UInt: elem.Uint32, cdf5.Int64: elem.Int64, cdf5.UInt64: elem.Uint64}

// changed reports whether values of a type get another type.
func changed(t cdf5.Type) bool {
	return t == cdf5.UByte || t == cdf5.UShort || t == cdf5.UInt || t == cdf5.Int64 || t == cdf5.UInt64
}

// appendXDR appends big-endian numbers of type t from the file in DAP2's format. bad is the index of the first number that a
// float64 cannot hold, or -1. fill is a number that may be rounded, in the file's format.
func appendXDR(dst []byte, t cdf5.Type, src, fill []byte) (out []byte, bad int) {
	be := binary.BigEndian
	switch t {
	case cdf5.Short:
		for ; len(src) > 0; src = src[2:] {
			dst = be.AppendUint32(dst, uint32(int16(be.Uint16(src))))
		}
	case cdf5.UByte:
		for _, x := range src {
			dst = be.AppendUint32(dst, uint32(x))
		}
	case cdf5.UShort:
		for ; len(src) > 0; src = src[2:] {
			dst = be.AppendUint32(dst, uint32(be.Uint16(src)))
		}
	case cdf5.UInt:
		for ; len(src) > 0; src = src[4:] {
			dst = be.AppendUint64(dst, math.Float64bits(float64(be.Uint32(src))))
		}
	case cdf5.Int64, cdf5.UInt64:
		for i := 0; len(src) > 0; i, src = i+1, src[8:] {
			x, exact := double(t, be.Uint64(src))
			if !exact && string(src[:8]) != string(fill) {
				return dst, i
			}
			dst = be.AppendUint64(dst, math.Float64bits(x))
		}
	default:
		dst = append(dst, src...)
	}
	return dst, -1
}

// double returns the float64 nearest to an int64 or uint64 with these bits. exact is false for all magnitudes of 2^53 and more,
// even if the conversion is exact, because the client cannot know whether it is.
func double(t cdf5.Type, bits uint64) (x float64, exact bool) {
	const most = 1 << 53
	if t == cdf5.Int64 {
		v := int64(bits)
		return float64(v), v >= -most && v <= most
	}
	return float64(bits), bits <= most
}
