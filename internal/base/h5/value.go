package h5

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Unlimited is the maximum of a dimension that can grow without limit.
const Unlimited int64 = -1

// space is a dataspace: the shape of a dataset or attribute.
type space struct {
	null bool    // no elements and no shape
	dims []int64 // empty: scalar
	max  []int64 // nil: same as dims; Unlimited for a dimension without limit
}

// decodeSpace decodes a dataspace message, version 1 or 2.
func (c *cursor) decodeSpace() space {
	var s space
	at := c.pos()
	version := c.u8("dataspace version")
	rank := c.u8("dataspace rank")
	flags := c.u8("dataspace flags")
	switch {
	case c.err != nil:
		return s
	case rank > maxRank:
		c.fail(at+1, "dataspace rank", fault.ErrCorrupt, "%d, want at most %d", rank, maxRank)
	case version == 1:
		c.skip(5, "dataspace reserved")
		if flags&2 != 0 {
			c.fail(at+2, "dataspace flags", fault.ErrUnsupported, "permutation indices are not supported")
		}
	case version == 2:
		switch kind := c.u8("dataspace type"); {
		case kind == 2:
			s.null = true
		case kind > 2:
			c.fail(at+3, "dataspace type", fault.ErrCorrupt, "%d, want 0 to 2", kind)
		case kind == 0 && rank != 0:
			c.fail(at+1, "dataspace rank", fault.ErrCorrupt, "%d for a scalar dataspace, want 0", rank)
		}
	default:
		c.fail(at, "dataspace version", fault.ErrUnsupported, "%d, want 1 or 2", version)
	}
	if c.err != nil || rank == 0 {
		return s
	}
	s.dims = make([]int64, rank)
	for i := range s.dims {
		s.dims[i] = c.length("dimension size")
	}
	if flags&1 != 0 {
		s.max = make([]int64, rank)
		for i := range s.max {
			p := c.pos()
			v := c.uvar(c.f.lenSize, "maximum dimension size")
			switch {
			case v == 1<<(8*c.f.lenSize)-1:
				s.max[i] = Unlimited
			case v > 1<<63-1 || int64(v) < s.dims[i]:
				c.fail(p, "maximum dimension size", fault.ErrCorrupt, "%d, want at least %d", v, s.dims[i])
			default:
				s.max[i] = int64(v)
			}
		}
	}
	if _, ok := elems(s.dims); !ok {
		c.fail(at, "dataspace", fault.ErrCorrupt, "%v elements, want fewer than 2^63", s.dims)
	}
	return s
}

// count returns the number of elements. decodeSpace has checked for overflow.
func (s *space) count() int64 {
	if s.null {
		return 0
	}
	n, _ := elems(s.dims)
	return n
}

// elems returns the product of dims. It returns false if a size is negative or the product overflows. Without dims it returns 1.
func elems(dims []int64) (int64, bool) {
	n := int64(1)
	for _, d := range dims {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			n = 0
		}
	}
	for _, d := range dims {
		if n > 0 && n > (1<<63-1)/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// plain has the Type of each element type in memory.
var plain = [...]Type{0, elem.Int8: Int8, elem.Int16: Int16, elem.Int32: Int32, elem.Int64: Int64,
	elem.Uint8: Uint8, elem.Uint16: Uint16, elem.Uint32: Uint32, elem.Uint64: Uint64, elem.Float32: Float32, elem.Float64: Float64}

// elem returns the memory type of a numeric type. It returns 0 for Float16 and types that are not numeric.
func (t Type) elem() elem.Type { return elem.Type(max(slices.Index(plain[:], t.values()), 0)) }

// values returns the little-endian type of the same numbers; for an enumeration, the type of its integers.
func (t Type) values() Type {
	if t.Class() == ClassEnum {
		t = t&^(0xff<<32) | Type(ClassInt)<<32
	}
	return t.Little()
}

// makeSlice returns a slice of the natural Go type for a numeric type.
func makeSlice(t Type, n int64) any {
	if t.Little() == Float16 {
		return make([]float32, n)
	}
	return t.elem().Make(int(n))
}

// SliceType returns the plain type of a slice's elements and its length. ok is false if v is not a slice of numbers, or is []int
// or []uint, whose size depends on the machine.
func SliceType(v any) (t Type, n int64, ok bool) {
	t, n, _, ok = natural(v)
	return t, n, ok
}

// natural is SliceType and also returns the memory as bytes in native order.
func natural(v any) (t Type, n int64, mem []byte, ok bool) {
	e, mem, ok := elem.Of(v)
	if !ok {
		return 0, 0, nil, false
	}
	return plain[e], int64(len(mem) / e.Size()), mem, true
}

// sameBits reports whether elements of t in a file equal elements of memory type m, except for byte order.
func sameBits(t, m Type) bool { return t.values() == m }

// toHost converts file elements in b to native order. The type must have the bits of the memory type.
func toHost(b []byte, t Type) { elem.Reorder(b, b, int(t.Size()), t.BigEndian()) }

// decodeSlice converts the elements of src, of the numeric type t, into dst, a slice of numbers of sufficient length. Integers
// that do not fit, and floats for an integer type, are ErrRange. first is the index of element 0 in error messages. Floats are
// rounded if they narrow.
func decodeSlice(dst any, src []byte, t Type, first int64) error {
	m, n, mem, ok := natural(dst)
	if !ok {
		return fault.Class(fault.ErrUsage, "destination is a %T, want a slice of numbers", dst)
	}
	if !t.Numeric() {
		return fault.Class(fault.ErrUnsupported, "no conversion for elements of type %s", t)
	}
	if int64(len(src)) != n*t.Size() {
		return fault.Class(fault.ErrUsage, "destination of %d elements, want %d", n, int64(len(src))/t.Size())
	}
	if sameBits(t, m) {
		copy(mem, src)
		toHost(mem, t)
		return nil
	}
	if t.Class() == ClassFloat {
		switch d := dst.(type) {
		case []float32:
			loadFloats(d, src, t)
		case []float64:
			loadFloats(d, src, t)
		default:
			if n > 0 {
				return fault.Class(fault.ErrRange, "element %d: a value of type %s does not fit an integer type", first, t)
			}
		}
		return nil
	}
	if bad, v := elem.Load(dst, src, t.BigEndian(), t.elem()); bad >= 0 {
		return fault.Class(fault.ErrRange, "element %d: %d does not fit %s", first+int64(bad), v, m)
	}
	return nil
}

func loadFloats[T float32 | float64](dst []T, src []byte, t Type) {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.BigEndian() {
		order = binary.BigEndian
	}
	w := int(t.Size())
	for i := range dst {
		switch e := src[i*w:]; w {
		case 2:
			dst[i] = T(halfFloat(order.Uint16(e)))
		case 4:
			dst[i] = T(math.Float32frombits(order.Uint32(e)))
		default:
			dst[i] = T(math.Float64frombits(order.Uint64(e)))
		}
	}
}

// halfFloat converts an IEEE binary16 number exactly.
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

// decodeStrings splits n strings of fixed length and removes their padding.
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
