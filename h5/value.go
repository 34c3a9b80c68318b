package h5

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"
)

// number is every element type that values convert from and to.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// makeSlice returns a slice of the natural Go type of a numeric type.
func makeSlice(t Type, n int64) any {
	if t.Class() == ClassFloat {
		if t.Size() == 8 {
			return make([]float64, n)
		}
		return make([]float32, n)
	}
	switch t.Size() {
	case 1:
		if t.Signed() {
			return make([]int8, n)
		}
		return make([]uint8, n)
	case 2:
		if t.Signed() {
			return make([]int16, n)
		}
		return make([]uint16, n)
	case 4:
		if t.Signed() {
			return make([]int32, n)
		}
		return make([]uint32, n)
	}
	if t.Signed() {
		return make([]int64, n)
	}
	return make([]uint64, n)
}

// natural returns the plain type of the elements of a slice, its length, and
// its memory as bytes in host order. ok is false for what is no slice of
// numbers.
func natural(v any) (t Type, n int64, mem []byte, ok bool) {
	switch s := v.(type) {
	case []int8:
		return Int8, int64(len(s)), memory(s), true
	case []int16:
		return Int16, int64(len(s)), memory(s), true
	case []int32:
		return Int32, int64(len(s)), memory(s), true
	case []int64:
		return Int64, int64(len(s)), memory(s), true
	case []uint8:
		return Uint8, int64(len(s)), s, true
	case []uint16:
		return Uint16, int64(len(s)), memory(s), true
	case []uint32:
		return Uint32, int64(len(s)), memory(s), true
	case []uint64:
		return Uint64, int64(len(s)), memory(s), true
	case []float32:
		return Float32, int64(len(s)), memory(s), true
	case []float64:
		return Float64, int64(len(s)), memory(s), true
	}
	return 0, 0, nil, false
}

// memory views a slice of numbers as bytes. All sizes are without padding, so
// every byte pattern is a value.
func memory[T number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// hostBig is whether this machine is big endian.
func hostBig() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) != 1 }

// sameBits reports whether elements of t in a file are those of memory type m
// but for the byte order.
func sameBits(t, m Type) bool {
	if t.Class() == ClassEnum {
		t = t&^(0xff<<32) | Type(ClassInt)<<32
	}
	return t.Little() == m
}

// toHost turns file elements in b, of a type with the bits of the memory
// type, into host order.
func toHost(b []byte, t Type) {
	if t.BigEndian() != hostBig() {
		swap(b, int(t.Size()))
	}
}

// swap reverses the bytes of each element of the given width.
func swap(b []byte, width int) {
	switch width {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.LittleEndian.PutUint16(b, binary.BigEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
		}
	}
}

// decodeSlice converts the elements of src, of the numeric type t, into dst, a
// slice of numbers with room for them. Integers that do not fit have ErrRange,
// as have floats into integers; first is the index of element 0 for that
// message. Floats narrow by rounding.
func decodeSlice(dst any, src []byte, t Type, first int64) error {
	m, n, mem, ok := natural(dst)
	if !ok {
		return pkg.Class(ErrUsage, "destination is a %T, want a slice of numbers", dst)
	}
	if !t.Numeric() {
		return pkg.Class(ErrUnsupported, "conversion of elements of type %s", t)
	}
	if int64(len(src)) != n*t.Size() {
		return pkg.Class(ErrUsage, "destination of %d elements, want %d", n, int64(len(src))/t.Size())
	}
	if sameBits(t, m) {
		copy(mem, src)
		toHost(mem, t)
		return nil
	}
	switch d := dst.(type) {
	case []int8:
		return convert(d, src, t, first)
	case []int16:
		return convert(d, src, t, first)
	case []int32:
		return convert(d, src, t, first)
	case []int64:
		return convert(d, src, t, first)
	case []uint8:
		return convert(d, src, t, first)
	case []uint16:
		return convert(d, src, t, first)
	case []uint32:
		return convert(d, src, t, first)
	case []uint64:
		return convert(d, src, t, first)
	case []float32:
		return convert(d, src, t, first)
	case []float64:
		return convert(d, src, t, first)
	}
	return nil
}

func convert[T number](dst []T, src []byte, t Type, first int64) error {
	w := int(t.Size())
	half := 0.5
	intoFloat := T(half) != 0
	for i := range dst {
		e := src[i*w : i*w+w]
		if t.Class() == ClassFloat {
			if !intoFloat {
				return pkg.Class(ErrRange, "element %d: %s into an integer", first+int64(i), t)
			}
			dst[i] = T(loadFloat(e, t))
			continue
		}
		u := loadUint(e, t.BigEndian())
		if t.Signed() {
			v := int64(u<<(64-8*w)) >> (64 - 8*w)
			dst[i] = T(v)
			if !intoFloat && (int64(dst[i]) != v || dst[i] < 0 != (v < 0)) {
				return pkg.Class(ErrRange, "element %d: %d does not fit %T", first+int64(i), v, dst[i])
			}
			continue
		}
		dst[i] = T(u)
		if !intoFloat && (uint64(dst[i]) != u || dst[i] < 0) {
			return pkg.Class(ErrRange, "element %d: %d does not fit %T", first+int64(i), u, dst[i])
		}
	}
	return nil
}

// loadUint reads an unsigned number of len(e) bytes.
func loadUint(e []byte, big bool) uint64 {
	switch {
	case len(e) == 1:
		return uint64(e[0])
	case len(e) == 2 && big:
		return uint64(binary.BigEndian.Uint16(e))
	case len(e) == 2:
		return uint64(binary.LittleEndian.Uint16(e))
	case len(e) == 4 && big:
		return uint64(binary.BigEndian.Uint32(e))
	case len(e) == 4:
		return uint64(binary.LittleEndian.Uint32(e))
	case big:
		return binary.BigEndian.Uint64(e)
	}
	return binary.LittleEndian.Uint64(e)
}

func loadFloat(e []byte, t Type) float64 {
	u := loadUint(e, t.BigEndian())
	switch t.Size() {
	case 2:
		return halfFloat(uint16(u))
	case 4:
		return float64(math.Float32frombits(uint32(u)))
	}
	return math.Float64frombits(u)
}

// halfFloat widens an IEEE binary16 number, exactly.
func halfFloat(h uint16) float64 {
	exp, man := int(h>>10&31), float64(h&1023)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(man, -24)
	case 31:
		v = math.Inf(1)
		if man != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(man+1024, exp-25)
	}
	if h>>15 != 0 {
		v = math.Copysign(v, -1)
	}
	return v
}

// decodeStrings cuts n strings of fixed length and takes their padding off.
func decodeStrings(raw []byte, t Type, n int64) []string {
	out := make([]string, n)
	w := t.Size()
	for i := range out {
		e := raw[int64(i)*w : (int64(i)+1)*w]
		switch t.pad() {
		case 2:
			out[i] = strings.TrimRight(string(e), " ")
		case 1:
			out[i] = strings.TrimRight(string(e), "\x00")
		default:
			out[i] = string(untilNul(e))
		}
	}
	return out
}
