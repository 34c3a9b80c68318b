package cdf5

import (
	"encoding/binary"

	"blobio/internal/base/elem"
)

// The default fill values of netCDF (NC_FILL_* of netcdf.h). The two float
// values are 0x7CF00000 and 0x479E000000000000.
const (
	fillByte   int8    = -127
	fillChar   byte    = 0
	fillShort  int16   = -32767
	fillInt    int32   = -2147483647
	fillFloat  float32 = 9.9692099683868690e+36
	fillDouble float64 = 9.9692099683868690e+36
	fillUByte  uint8   = 255
	fillUShort uint16  = 65535
	fillUInt   uint32  = 4294967295
	fillInt64  int64   = -9223372036854775806
	fillUInt64 uint64  = 18446744073709551614
)

// fills has the default fill value of each type as a slice of one element.
var fills = [...]any{nil, Byte: []int8{fillByte}, Char: []uint8{fillChar}, Short: []int16{fillShort}, Int: []int32{fillInt},
	Float: []float32{fillFloat}, Double: []float64{fillDouble}, UByte: []uint8{fillUByte}, UShort: []uint16{fillUShort},
	UInt: []uint32{fillUInt}, Int64: []int64{fillInt64}, UInt64: []uint64{fillUInt64}}

// FillValue returns the default fill value of type t as a Go scalar (a byte
// for Char), or nil for an unknown type.
func FillValue(t Type) any {
	if !t.Valid() {
		return nil
	}
	return elem.At(fills[t], 0)
}

// FillBytes fills dst with the fill value of type t as file bytes in this order (nil: big-endian). The fill value is the value of
// fillAtt if fillAtt has type t and one element, otherwise the default. If dst ends inside an element, the last bytes of dst get
// the first bytes of the value.
func FillBytes(dst []byte, t Type, order binary.ByteOrder, fillAtt *Att) {
	if !t.Valid() || len(dst) == 0 {
		return
	}
	value := fills[t]
	if fillAtt != nil && fillAtt.Type == t && fillAtt.Len() == 1 {
		value = fillAtt.Value
	}
	var one [8]byte
	if ToFile(one[:], isBig(order), t, value) != nil {
		return // unreachable: the types match
	}
	n := copy(dst, one[:t.Size()])
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
