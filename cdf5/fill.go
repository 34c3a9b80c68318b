package cdf5

import "encoding/binary"

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

// FillValue returns the default fill value of type t as a Go scalar (a byte
// for Char), or nil for an unknown type.
func FillValue(t Type) any {
	switch t {
	case Byte:
		return fillByte
	case Char:
		return fillChar
	case Short:
		return fillShort
	case Int:
		return fillInt
	case Float:
		return fillFloat
	case Double:
		return fillDouble
	case UByte:
		return fillUByte
	case UShort:
		return fillUShort
	case UInt:
		return fillUInt
	case Int64:
		return fillInt64
	case UInt64:
		return fillUInt64
	}
	return nil
}

// fillSlice returns the default fill value as a memory slice of one element.
func fillSlice(t Type) any {
	switch t {
	case Byte:
		return []int8{fillByte}
	case Short:
		return []int16{fillShort}
	case Int:
		return []int32{fillInt}
	case Float:
		return []float32{fillFloat}
	case Double:
		return []float64{fillDouble}
	case UByte:
		return []uint8{fillUByte}
	case UShort:
		return []uint16{fillUShort}
	case UInt:
		return []uint32{fillUInt}
	case Int64:
		return []int64{fillInt64}
	case UInt64:
		return []uint64{fillUInt64}
	}
	return []uint8{fillChar}
}

// FillBytes fills all of dst with the fill value of type t as file bytes in
// the given order (nil: big endian): the value of fillAtt when it has type t
// and one element, otherwise the default one. A last part shorter than an
// element gets the first bytes of the value.
func FillBytes(dst []byte, t Type, order binary.ByteOrder, fillAtt *Att) {
	if !t.Valid() || len(dst) == 0 {
		return
	}
	value := fillSlice(t)
	if fillAtt != nil && fillAtt.Type == t && fillAtt.Len() == 1 {
		value = fillAtt.Value
	}
	var one [8]byte
	if ToFile(one[:], isBig(order), t, value) != nil {
		return // not reached: the types match
	}
	n := copy(dst, one[:t.Size()])
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
