package cdf5

import (
	"fmt"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Type is an external (file) type. Its number is the code in the file.
type Type uint32

// The external types. UByte and the types after it exist only in CDF-5.
const (
	Byte   Type = 1  // 1 byte, signed
	Char   Type = 2  // 1 byte, text
	Short  Type = 3  // 2 bytes, signed
	Int    Type = 4  // 4 bytes, signed
	Float  Type = 5  // IEEE 754 binary32
	Double Type = 6  // IEEE 754 binary64
	UByte  Type = 7  // 1 byte, unsigned
	UShort Type = 8  // 2 bytes, unsigned
	UInt   Type = 9  // 4 bytes, unsigned
	Int64  Type = 10 // 8 bytes, signed
	UInt64 Type = 11 // 8 bytes, unsigned
)

// elems and typeNames are indexed by Type. The names come from CDL.
var (
	elems = [...]elem.Type{0, Byte: elem.Int8, Char: elem.Uint8, Short: elem.Int16, Int: elem.Int32, Float: elem.Float32, Double: elem.Float64,
		UByte: elem.Uint8, UShort: elem.Uint16, UInt: elem.Uint32, Int64: elem.Int64, UInt64: elem.Uint64}
	typeNames = [...]string{"", "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"}
)

// sizes has the size of each Type. A table is faster: headers need the sizes several times for each attribute.
var sizes = func() (s [len(elems)]int) {
	for i, e := range elems {
		s[i] = e.Size()
	}
	return s
}()

// natural maps each type in memory to a Type. No type in memory maps to Char.
var natural = [...]Type{0, elem.Int8: Byte, elem.Int16: Short, elem.Int32: Int, elem.Int64: Int64,
	elem.Uint8: UByte, elem.Uint16: UShort, elem.Uint32: UInt, elem.Uint64: UInt64, elem.Float32: Float, elem.Float64: Double}

// elem returns the memory type of a value of type t, or 0 for an invalid type.
func (t Type) elem() elem.Type {
	if !t.Valid() {
		return 0
	}
	return elems[t]
}

// Size returns the size of one element in bytes, or 0 for an invalid type.
func (t Type) Size() int {
	if !t.Valid() {
		return 0
	}
	return sizes[t]
}

// Valid reports whether t is one of the eleven types of CDF-5.
func (t Type) Valid() bool { return t >= Byte && t <= UInt64 }

// ValidIn reports whether t exists in version v of the format.
func (t Type) ValidIn(v Version) bool {
	if v == CDF5 {
		return t.Valid()
	}
	return t >= Byte && t <= Double
}

// String returns the CDL name, such as "int64".
func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("type(%d)", uint32(t))
	}
	return typeNames[t]
}

// ParseType returns the type with this CDL name. An unknown name is an ErrUsage.
func ParseType(name string) (Type, error) {
	for t := Byte; t <= UInt64; t++ {
		if typeNames[t] == name {
			return t, nil
		}
	}
	return 0, fault.Usage("unknown type %q", name)
}

// Version is the fourth byte of a CDF file.
type Version uint8

// The versions of the format. They differ in the width of counts and offsets and in their types; see the table in
// docs/format-cdf5.md.
const (
	CDF1 Version = 1 // 32-bit counts, 32-bit offsets
	CDF2 Version = 2 // 32-bit counts, 64-bit offsets
	CDF5 Version = 5 // 64-bit counts, 64-bit offsets, five more types
)

// Valid reports whether v is one of the three versions.
func (v Version) Valid() bool { return v == CDF1 || v == CDF2 || v == CDF5 }

// String returns "CDF-1", "CDF-2" or "CDF-5".
func (v Version) String() string { return fmt.Sprintf("CDF-%d", uint8(v)) }

// countSize returns the width in bytes of a count, a length, a dimid and a vsize.
func (v Version) countSize() int64 {
	if v == CDF5 {
		return 8
	}
	return 4
}

func (v Version) beginSize() int64 {
	if v == CDF1 {
		return 4
	}
	return 8
}

// maxCount returns the maximum count in a field of this version.
func (v Version) maxCount() int64 {
	if v == CDF5 {
		return 1<<63 - 1
	}
	return 1<<32 - 1
}
