package h5

import (
	"encoding/binary"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Encoders of header messages, as libhdf5 writes them by default. Messages are padded to a multiple of 8 bytes, as version 1
// headers require.

var le = binary.LittleEndian

func pad8(b []byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// encodeType returns a datatype message, version 1.
func encodeType(t Type) (b []byte) {
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

// typeLen returns the size of a datatype message without padding.
func typeLen(t Type) int {
	return map[Class]int{ClassInt: 12, ClassFloat: 20, ClassString: 8}[t.Class()]
}

// encodeSpace returns a dataspace message, version 1. A simple dataspace also has the maximum sizes, which are equal to the
// sizes.
func encodeSpace(dims []int64) []byte {
	flags := byte(0)
	if len(dims) > 0 {
		flags = 1
	}
	b := []byte{1, byte(len(dims)), flags, 0, 0, 0, 0, 0}
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
	if err := checkAttr(name); err != nil {
		return nil, err
	}
	typ, space := encodeType(t), encodeSpace(dims)
	b := []byte{1, 0}
	b = le.AppendUint16(b, uint16(len(name)+1))
	b = le.AppendUint16(b, uint16(typeLen(t)))
	b = le.AppendUint16(b, uint16(len(space)))
	b = append(b, name...)
	b = pad8(append(b, 0))
	b = append(append(b, typ...), space...)
	n, _ := elems(dims)
	if n*t.Size() > 1<<16 {
		return nil, fault.Class(fault.ErrUsage, "value has %d bytes, want at most 65,528 with name and shape", n*t.Size())
	}
	b, err := encodeValue(b, t, n, value)
	if err != nil {
		return nil, err
	}
	if b = pad8(b); len(b) > 65528 {
		return nil, fault.Class(fault.ErrUsage, "message has %d bytes, want at most 65,528", len(b))
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
	// The numbers in memory are decoded like numbers of a file with the byte order of this machine.
	if elem.HostBig {
		m |= typeBig
	}
	dst := makeSlice(t, n)
	if err := decodeSlice(dst, mem, m, 0); err != nil {
		return nil, err
	}
	_, _, out, _ := natural(dst)
	at := len(b)
	b = append(b, out...)
	toHost(b[at:], t) // toHost swaps in both directions, so it also converts from native order to little-endian
	return b, nil
}

// listed returns a single number as a slice. It converts int and uint to 64-bit types.
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
