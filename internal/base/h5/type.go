package h5

import (
	"blobio/internal/base/fault"
	"fmt"
)

// Type is the element type of a dataset or attribute: class, size in bytes, and other data to decode an element. Types compare
// with ==.
type Type uint64

// Class is a datatype class, numbered as in the format.
type Class uint8

// The datatype classes. Int, Float, String, Enum, and Vlen for strings can be decoded. For others, only the raw bytes can be
// read.
const (
	ClassInt       Class = 0 // fixed-point
	ClassFloat     Class = 1
	ClassTime      Class = 2
	ClassString    Class = 3 // of fixed length
	ClassBitfield  Class = 4
	ClassOpaque    Class = 5
	ClassCompound  Class = 6
	ClassReference Class = 7
	ClassEnum      Class = 8 // decoded as its integers
	ClassVlen      Class = 9
	ClassArray     Class = 10
)

// Bits of a Type: 0-31 size, 32-39 class, then flags.
const (
	typeSigned Type = 1 << (40 + iota)
	typeBig         // big endian
	typePad0        // two bits: string padding
	typePad1
	typeUTF8
	typeOdd     // unusual bit offset, precision or float layout
	typeVlenStr // class Vlen for strings
)

// The plain types, little-endian: together with FixedString, all types of the writer.
const (
	Int8    = Type(1) | typeSigned
	Int16   = Type(2) | typeSigned
	Int32   = Type(4) | typeSigned
	Int64   = Type(8) | typeSigned
	Uint8   = Type(1)
	Uint16  = Type(2)
	Uint32  = Type(4)
	Uint64  = Type(8)
	Float16 = Type(2) | Type(ClassFloat)<<32 | typeSigned
	Float32 = Type(4) | Type(ClassFloat)<<32 | typeSigned
	Float64 = Type(8) | Type(ClassFloat)<<32 | typeSigned
)

// FixedString returns the type of null-terminated ASCII strings of n bytes, including the terminator.
func FixedString(n int) Type { return Type(uint32(n)) | Type(ClassString)<<32 }

// Class returns the datatype class.
func (t Type) Class() Class { return Class(t >> 32) }

// Size returns the size of an element in bytes.
func (t Type) Size() int64 { return int64(uint32(t)) }

// Signed reports whether integers of the type are signed.
func (t Type) Signed() bool { return t&typeSigned != 0 }

// BigEndian reports whether the type is big-endian.
func (t Type) BigEndian() bool { return t&typeBig != 0 }

// Little returns the little-endian type of the same kind.
func (t Type) Little() Type { return t &^ typeBig }

// Numeric reports whether elements are integers (including enumerations) or floats of a plain layout.
func (t Type) Numeric() bool {
	if t&typeOdd != 0 {
		return false
	}
	switch t.Class() {
	case ClassInt, ClassEnum:
		return t.Size() == 1 || t.Size() == 2 || t.Size() == 4 || t.Size() == 8
	case ClassFloat:
		return t.Size() == 2 || t.Size() == 4 || t.Size() == 8
	}
	return false
}

// pad returns the string padding: 0 null-terminated, 1 null-padded, 2 space-padded.
func (t Type) pad() int { return int(t>>42) & 3 }

// String returns a short name: int32, uint8, float64be, string[12], ...
func (t Type) String() string {
	var s string
	switch t.Class() {
	case ClassInt, ClassEnum:
		s = fmt.Sprintf("int%d", t.Size()*8)
		if !t.Signed() {
			s = "u" + s
		}
		if t.Class() == ClassEnum {
			s = "enum " + s
		}
	case ClassFloat:
		s = fmt.Sprintf("float%d", t.Size()*8)
	case ClassString:
		return fmt.Sprintf("string[%d]", t.Size())
	case ClassVlen:
		if t&typeVlenStr != 0 {
			return "vlen string"
		}
		return "vlen"
	default:
		return fmt.Sprintf("%s[%d]", t.Class(), t.Size())
	}
	if t.BigEndian() && t.Size() > 1 {
		s += "be"
	}
	if t&typeOdd != 0 {
		s += " (not plain)"
	}
	return s
}

// String returns the name of the class.
func (c Class) String() string {
	names := [...]string{"integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "vlen", "array"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// decodeType decodes a datatype message. For a class that cannot be decoded, it returns the size and class without an error.
func (c *cursor) decodeType() Type {
	at := c.pos()
	cv := c.u8("datatype class and version")
	bf := c.uvar(3, "datatype bit field")
	size := c.u32("datatype size")
	if c.err != nil {
		return 0
	}
	if v := cv >> 4; v < 1 || v > 5 {
		c.fail(at, "datatype version", fault.ErrUnsupported, "%d, want 1 to 5", v)
		return 0
	}
	class := Class(cv & 15)
	if size == 0 {
		c.fail(at+4, "datatype size", fault.ErrCorrupt, "0 bytes, want at least 1")
		return 0
	}
	t := Type(size) | Type(class)<<32
	switch class {
	case ClassInt:
		if bf&1 != 0 {
			t |= typeBig
		}
		if bf&8 != 0 {
			t |= typeSigned
		}
		offset, precision := c.u16("integer bit offset"), c.u16("integer precision")
		if offset != 0 || uint32(precision) != 8*size {
			t |= typeOdd
		}
	case ClassFloat:
		t |= typeSigned
		switch bf & 0x41 {
		case 1:
			t |= typeBig
		case 0:
		default: // VAX order or a reserved value
			t |= typeOdd
		}
		offset, precision := c.u16("float bit offset"), c.u16("float precision")
		var l floatLayout
		l.expAt, l.expLen = c.u8("exponent location"), c.u8("exponent size")
		l.manAt, l.manLen = c.u8("mantissa location"), c.u8("mantissa size")
		l.bias = c.u32("exponent bias")
		l.sign = uint8(bf >> 8)
		if want, ok := ieeeLayout(size); !ok || l != want || offset != 0 || uint32(precision) != 8*size || bf>>4&3 != 2 {
			t |= typeOdd
		}
	case ClassString:
		if p := bf & 15; p > 2 {
			t |= typeOdd
		} else {
			t |= Type(p) * typePad0
		}
		if bf>>4&15 == 1 {
			t |= typeUTF8
		}
	case ClassEnum:
		if c.left() == 0 || c.b[c.p]&15 != uint8(ClassInt) {
			return t | typeOdd // so decodeType nests at most one level
		}
		base := c.decodeType()
		if c.err != nil {
			return 0
		}
		if base.Size() != int64(size) {
			return t | typeOdd
		}
		t |= base &^ (0xff_ffffffff)
	case ClassVlen:
		if bf&15 == 1 {
			t |= typeVlenStr
		}
	}
	return t
}

// floatLayout has the bit positions of the parts of a float.
type floatLayout struct {
	sign, expAt, expLen, manAt, manLen uint8
	bias                               uint32
}

// ieeeLayout returns the layout of IEEE 754 binary16, 32 and 64.
func ieeeLayout(size uint32) (floatLayout, bool) {
	switch size {
	case 2:
		return floatLayout{15, 10, 5, 0, 10, 15}, true
	case 4:
		return floatLayout{31, 23, 8, 0, 23, 127}, true
	case 8:
		return floatLayout{63, 52, 11, 0, 52, 1023}, true
	}
	return floatLayout{}, false
}
