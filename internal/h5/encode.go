package h5

import (
	"encoding/binary"
	"math"

	"blobio/internal/elem"
	"blobio/internal/fault"
)

// Encoders of header messages, as libhdf5 writes them by default. All are
// padded to a multiple of 8 bytes, as version 1 headers want.

var le = binary.LittleEndian

func pad8(b []byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// encodeType appends a datatype message, version 1.
func encodeType(b []byte, t Type) []byte {
	size := uint32(t.Size())
	switch t.Class() {
	case ClassFloat:
		l, _ := ieeeLayout(size)
		b = append(b, 0x11, 0x20, l.sign, 0) // mantissa: the leading bit is implied
		b = le.AppendUint32(b, size)
		b = append(b, 0, 0)
		b = le.AppendUint16(b, uint16(8*size))
		b = append(b, l.expAt, l.expLen, l.manAt, l.manLen)
		b = le.AppendUint32(b, l.bias)
	case ClassString:
		b = append(b, 0x13, byte(t.pad()), 0, 0)
		b = le.AppendUint32(b, size)
	default:
		sign := byte(0)
		if t.Signed() {
			sign = 8
		}
		b = append(b, 0x10, sign, 0, 0)
		b = le.AppendUint32(b, size)
		b = append(b, 0, 0)
		b = le.AppendUint16(b, uint16(8*size))
	}
	return pad8(b)
}

// typeLen is the size of a datatype message without padding.
func typeLen(t Type) int {
	return map[Class]int{ClassInt: 12, ClassFloat: 20, ClassString: 8}[t.Class()]
}

// encodeSpace appends a dataspace message, version 1. Simple ones carry
// maximum sizes, equal to the sizes.
func encodeSpace(b []byte, dims []int64) []byte {
	flags := byte(0)
	if len(dims) > 0 {
		flags = 1
	}
	b = append(b, 1, byte(len(dims)), flags, 0, 0, 0, 0, 0)
	for range 2 {
		for _, d := range dims {
			b = le.AppendUint64(b, uint64(d))
		}
	}
	return b
}

// encodeAttr returns an attribute message, version 1.
func encodeAttr(name string, t Type, dims []int64, value any) ([]byte, error) {
	if err := checkShape(t, dims); err != nil {
		return nil, err
	}
	if name == "" || len(name) > 1<<15 {
		return nil, fault.Class(fault.ErrUsage, "name of %d bytes, want 1 to %d", len(name), 1<<15)
	}
	for i := range len(name) {
		if name[i] == 0 {
			return nil, fault.Class(fault.ErrUsage, "zero byte in the name")
		}
	}
	typ, space := encodeType(nil, t), encodeSpace(nil, dims)
	b := []byte{1, 0}
	b = le.AppendUint16(b, uint16(len(name)+1))
	b = le.AppendUint16(b, uint16(typeLen(t)))
	b = le.AppendUint16(b, uint16(len(space)))
	b = append(b, name...)
	b = pad8(append(b, 0))
	b = append(append(b, typ...), space...)
	n, _ := elems(dims)
	if n*t.Size() > 1<<16 {
		return nil, fault.Class(fault.ErrUsage, "value of %d bytes, want at most 65,528 with name and shape", n*t.Size())
	}
	b, err := encodeValue(b, t, n, value)
	if err != nil {
		return nil, err
	}
	if b = pad8(b); len(b) > 65528 {
		return nil, fault.Class(fault.ErrUsage, "message of %d bytes, want at most 65,528", len(b))
	}
	return b, nil
}

// encodeValue appends n elements of type t.
func encodeValue(b []byte, t Type, n int64, value any) ([]byte, error) {
	if t.Class() == ClassString {
		var s []string
		switch v := value.(type) {
		case string:
			s = []string{v}
		case []string:
			s = v
		default:
			return nil, fault.Class(fault.ErrUsage, "value is a %T, want string or []string", value)
		}
		if int64(len(s)) != n {
			return nil, fault.Class(fault.ErrUsage, "%d strings, want %d", len(s), n)
		}
		for i, e := range s {
			if int64(len(e)) >= t.Size() {
				return nil, fault.Class(fault.ErrRange, "string %d has %d bytes, want at most %d and a terminator", i, len(e), t.Size()-1)
			}
			b = append(b, e...)
			b = append(b, make([]byte, t.Size()-int64(len(e)))...)
		}
		return b, nil
	}
	m, have, mem, ok := natural(listed(value))
	switch {
	case !ok:
		return nil, fault.Class(fault.ErrUsage, "value is a %T, want a number or a slice of numbers", value)
	case have != n:
		return nil, fault.Class(fault.ErrUsage, "%d elements, want %d", have, n)
	}
	// Bytes in host order, taken for a file type of that order, convert
	// through the slice of the natural type.
	if elem.HostBig {
		m |= typeBig
	}
	if t == Float16 {
		return appendHalves(b, mem, m, n)
	}
	dst := makeSlice(t, n)
	if err := decodeSlice(dst, mem, m, 0); err != nil {
		return nil, err
	}
	_, _, out, _ := natural(dst)
	at := len(b)
	b = append(b, out...)
	toHost(b[at:], t) // host to little endian is the same step
	return b, nil
}

// listed turns a single number into a slice of one; int and uint become 64-bit.
func listed(value any) any {
	switch v := value.(type) {
	case int:
		return []int64{int64(v)}
	case uint:
		return []uint64{uint64(v)}
	case []int:
		return elem.Fixed(v)
	}
	if s, ok := elem.One(value); ok {
		return s
	}
	return value
}

// appendHalves writes binary16 numbers; only values that are exact in it.
func appendHalves(b, mem []byte, m Type, n int64) ([]byte, error) {
	v := make([]float64, n)
	if err := decodeSlice(v, mem, m, 0); err != nil {
		return nil, err
	}
	for i, x := range v {
		h, ok := toHalf(x)
		if !ok {
			return nil, fault.Class(fault.ErrRange, "element %d: %v is not exact in float16", i, x)
		}
		b = le.AppendUint16(b, h)
	}
	return b, nil
}

func toHalf(x float64) (uint16, bool) {
	sign := uint16(0)
	if math.Signbit(x) {
		sign = 1 << 15
	}
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00, true
	case math.IsInf(x, 0):
		return sign | 0x7c00, true
	case x == 0:
		return sign, true
	}
	frac, exp := math.Frexp(math.Abs(x)) // in [0.5, 1)
	e := max(exp+14, 0)
	man := math.Ldexp(frac, 11)
	if e == 0 {
		man = math.Ldexp(math.Abs(x), 24)
	}
	if e > 30 || man != math.Trunc(man) {
		return 0, false
	}
	if e == 0 {
		return sign | uint16(man), true
	}
	return sign | uint16(e)<<10 | uint16(man)&1023, true
}
