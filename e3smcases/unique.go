package e3smcases

import (
	"fmt"
	"iter"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
)

// number is every memory type of the patterns except text.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// stream is the series of hashes of one variable and record.
type stream uint64

func newStream(name string, rec int64) stream {
	h := uint64(14695981039346656037) // FNV-1a of the name
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return stream(mix(h + uint64(rec)*0x9e3779b97f4a7c15))
}

// at returns the hash at a canonical index. Indices, records and names give independent values; the upper bits are the most
// random.
func (s stream) at(i int64) uint64 { return mix(uint64(s) + uint64(i)*0xd6e8feb86659fd93) }

func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0xff51afd7ed558ccd
	x = (x ^ x>>29) * 0xc4ceb9fe1a85ec53
	return x ^ x>>32
}

// uniqueShift leaves the upper bits of a hash that a file type represents exactly without a sign. Values are thus never negative
// or a fill value, and the same in any memory type that can hold the file type.
var uniqueShift = [...]uint{
	cdf5.Byte: 57, cdf5.Short: 49, cdf5.Int: 33, cdf5.Float: 40, cdf5.Double: 11,
	cdf5.UByte: 56, cdf5.UShort: 48, cdf5.UInt: 32, cdf5.Int64: 1, cdf5.UInt64: 0,
}

// fillUnique sets dst to the unique values of a variable with any name, at the canonical elements of runs, in order. t is the
// type in the file. dst is a slice of that type, or of a type that holds all its values ([]byte for Char). Any other type or
// length is an error.
func fillUnique(dst any, t cdf5.Type, name string, rec int64, runs iter.Seq[decomp.Req]) error {
	if err := fits(dst, t); err != nil {
		return fmt.Errorf("variable %s: %w", name, err)
	}
	s, shift := newStream(name, rec), uniqueShift[t]
	n := 0
	switch d := dst.(type) {
	case []byte:
		if t == cdf5.Char {
			n = letters(d, s, runs)
		} else {
			n = small(d, s, shift, runs)
		}
	case []int8:
		n = unique(d, s, shift, runs)
	case []int16:
		n = unique(d, s, shift, runs)
	case []uint16:
		n = unique(d, s, shift, runs)
	case []int32:
		n = unique(d, s, shift, runs)
	case []uint32:
		n = unique(d, s, shift, runs)
	case []int64:
		n = unique(d, s, shift, runs)
	case []uint64:
		n = unique(d, s, shift, runs)
	case []float32:
		n = unique(d, s, shift, runs)
	case []float64:
		n = unique(d, s, shift, runs)
	}
	return lengthErr(name, dst, n)
}

// unique writes the values and returns the number of elements of runs, or -1 if dst is too short.
func unique[T number](dst []T, s stream, shift uint, runs iter.Seq[decomp.Req]) int {
	pos := 0
	for q := range runs {
		if q.Length > int64(len(dst)-pos) {
			return -1
		}
		d := dst[pos : pos+int(q.Length)]
		for i := range d {
			d[i] = T(int64(s.at(q.Offset+int64(i)) >> shift))
		}
		pos += len(d)
	}
	return pos
}

func small(dst []byte, s stream, shift uint, runs iter.Seq[decomp.Req]) int {
	pos := 0
	for q := range runs {
		if q.Length > int64(len(dst)-pos) {
			return -1
		}
		for i := range q.Length {
			dst[pos] = byte(s.at(q.Offset+i) >> shift)
			pos++
		}
	}
	return pos
}

// letters writes bytes 1 to 127: text without a terminator.
func letters(dst []byte, s stream, runs iter.Seq[decomp.Req]) int {
	pos := 0
	for q := range runs {
		if q.Length > int64(len(dst)-pos) {
			return -1
		}
		for i := range q.Length {
			dst[pos] = byte(1 + (s.at(q.Offset+i)>>32)*127>>32)
			pos++
		}
	}
	return pos
}

// fits returns an error unless dst is a slice whose type holds all values of t.
func fits(dst any, t cdf5.Type) error {
	mem, _, ok := elem.Of(dst)
	file, _, known := elem.Of(cdf5.NewSlice(t, 0))
	ok = ok && known && mem.Holds(file) && (t != cdf5.Char || mem == elem.Uint8)
	if !ok {
		return fmt.Errorf("memory type %T does not hold all values of file type %v", dst, t)
	}
	return nil
}

func lengthErr(name string, dst any, n int) error {
	l, _, _ := cdf5.SliceLen(dst)
	if n == l {
		return nil
	}
	if n < 0 {
		return fmt.Errorf("variable %s: the requests exceed the %d elements of memory", name, l)
	}
	return fmt.Errorf("variable %s: the requests have %d elements, but memory has %d", name, n, l)
}
