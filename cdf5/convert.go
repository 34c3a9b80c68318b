package cdf5

import "math"

// ToFile stores the elements of the memory slice src as file bytes of type t,
// high byte first when big. dst has at least n*t.Size() bytes, n elements of
// src. Char takes a string or []byte and nothing else; the numeric types take
// every numeric slice, converted by netCDF's rules:
//
//   - a value outside of the range of t is a *RangeError and the conversion
//     stops there (dst may be partly written),
//   - a float that goes to an integer type is compared before its fraction
//     is cut off: 127.5 does not fit a byte, -0.5 no unsigned type; NaN and
//     infinities fit none,
//   - float64 to float32 passes NaN and infinities; a finite value beyond the
//     greatest float32 does not fit,
//   - integers that go to a float type are rounded.
//
// Wrong argument types and sizes are ErrUsage.
func ToFile(dst []byte, big bool, t Type, src any) error {
	n, mem, err := checkTypes(t, src)
	if err != nil {
		return err
	}
	width := t.Size()
	if len(dst)/width < n {
		return pkg.Usage("%d bytes for %d elements of %v", len(dst), n, t)
	}
	dst = dst[:n*width]
	if s, ok := src.(string); ok {
		copy(dst, s)
		return nil
	}
	if exactType(mem, t, src) {
		b, _ := Bytes(src)
		put(dst, b, width, big)
		return nil
	}
	switch t {
	case Byte:
		return toFile[int8](dst, big, t, src)
	case Short:
		return toFile[int16](dst, big, t, src)
	case Int:
		return toFile[int32](dst, big, t, src)
	case Float:
		return toFile[float32](dst, big, t, src)
	case Double:
		return toFile[float64](dst, big, t, src)
	case UByte:
		return toFile[uint8](dst, big, t, src)
	case UShort:
		return toFile[uint16](dst, big, t, src)
	case UInt:
		return toFile[uint32](dst, big, t, src)
	case Int64:
		return toFile[int64](dst, big, t, src)
	}
	return toFile[uint64](dst, big, t, src)
}

// FromFile is the reverse of ToFile: file bytes of type t become elements of
// the memory slice dst, as many as it is long. src has at least
// len(dst)*t.Size() bytes. Char goes to []byte and nothing else. The range
// rules are those of ToFile, with the type of dst as the target.
func FromFile(dst any, src []byte, big bool, t Type) error {
	if _, ok := dst.(string); ok {
		return pkg.Usage("a string cannot be read into")
	}
	n, mem, err := checkTypes(t, dst)
	if err != nil {
		return err
	}
	width := t.Size()
	if len(src)/width < n {
		return pkg.Usage("%d bytes for %d elements of %v", len(src), n, t)
	}
	src = src[:n*width]
	if exactType(mem, t, dst) {
		b, _ := Bytes(dst)
		put(b, src, width, big)
		return nil
	}
	switch d := dst.(type) {
	case []int8:
		return fromFile(d, src, big, t, mem)
	case []int16:
		return fromFile(d, src, big, t, mem)
	case []int32:
		return fromFile(d, src, big, t, mem)
	case []int64:
		return fromFile(d, src, big, t, mem)
	case []int:
		return fromFile(d, src, big, t, mem)
	case []uint8:
		return fromFile(d, src, big, t, mem)
	case []uint16:
		return fromFile(d, src, big, t, mem)
	case []uint32:
		return fromFile(d, src, big, t, mem)
	case []uint64:
		return fromFile(d, src, big, t, mem)
	case []uint:
		return fromFile(d, src, big, t, mem)
	case []float32:
		return fromFile(d, src, big, t, mem)
	case []float64:
		return fromFile(d, src, big, t, mem)
	}
	return pkg.Usage("cannot read into %T", dst)
}

// CheckRange tells whether ToFile would convert src to type t, without doing
// it: nil, a *RangeError with the first element that does not fit, or ErrUsage.
func CheckRange(t Type, src any) error {
	_, mem, err := checkTypes(t, src)
	if err != nil || t == Char || exactType(mem, t, src) {
		return err
	}
	switch t {
	case Byte:
		return check[int8](t, src)
	case Short:
		return check[int16](t, src)
	case Int:
		return check[int32](t, src)
	case Float:
		if s, ok := src.([]float64); ok {
			return checkNarrow(s)
		}
		return nil
	case Double:
		return nil
	case UByte:
		return check[uint8](t, src)
	case UShort:
		return check[uint16](t, src)
	case UInt:
		return check[uint32](t, src)
	case Int64:
		return check[int64](t, src)
	}
	return check[uint64](t, src)
}

// checkTypes tells whether memory like v can hold t at all.
func checkTypes(t Type, v any) (n int, mem Type, err error) {
	n, mem, ok := SliceLen(v)
	switch {
	case !ok:
		return 0, 0, pkg.Usage("cannot convert %T", v)
	case !t.Valid():
		return 0, 0, pkg.Usage("%v does not exist", t)
	case t == Char && mem != Char && mem != UByte, t != Char && mem == Char:
		return 0, 0, pkg.Usage("no conversion between %T and %v", v, t)
	}
	return n, mem, nil
}

// exactType tells whether the memory of v, of natural type mem, is t but for
// the byte order.
func exactType(mem, t Type, v any) bool {
	if !exactSlice(v) {
		return t == mem && math.MaxInt == math.MaxInt64
	}
	return t == mem || (t == Char && mem == UByte)
}

// put copies between machine order and file order.
func put(dst, src []byte, width int, big bool) {
	if big == hostBig {
		copy(dst, src)
	} else {
		Swap(dst, src, width)
	}
}

// block is the number of elements converted at a time: the intermediate array
// of at most 4 KiB stays in the first-level cache.
const block = 512

func toFile[D number](dst []byte, big bool, t Type, src any) error {
	var buf [block]D
	n, _, _ := SliceLen(src)
	width := t.Size()
	for at := 0; at < n; at += block {
		k := min(block, n-at)
		if bad := castAny(buf[:k], src, at); bad >= 0 {
			return rangeError(at+bad, src, t)
		}
		put(dst[at*width:(at+k)*width], view(buf[:k]), width, big)
	}
	return nil
}

func check[D number](t Type, src any) error {
	var buf [block]D
	n, _, _ := SliceLen(src)
	for at := 0; at < n; at += block {
		k := min(block, n-at)
		if bad := castAny(buf[:k], src, at); bad >= 0 {
			return rangeError(at+bad, src, t)
		}
	}
	return nil
}

func fromFile[D number](dst []D, src []byte, big bool, t, mem Type) error {
	switch t {
	case Byte:
		return fromFileAs[int8](dst, src, big, mem)
	case Short:
		return fromFileAs[int16](dst, src, big, mem)
	case Int:
		return fromFileAs[int32](dst, src, big, mem)
	case Float:
		return fromFileAs[float32](dst, src, big, mem)
	case Double:
		return fromFileAs[float64](dst, src, big, mem)
	case UByte:
		return fromFileAs[uint8](dst, src, big, mem)
	case UShort:
		return fromFileAs[uint16](dst, src, big, mem)
	case UInt:
		return fromFileAs[uint32](dst, src, big, mem)
	case Int64:
		return fromFileAs[int64](dst, src, big, mem)
	}
	return fromFileAs[uint64](dst, src, big, mem)
}

func fromFileAs[S, D number](dst []D, src []byte, big bool, mem Type) error {
	var buf [block]S
	for at := 0; at < len(dst); at += block {
		k := min(block, len(dst)-at)
		raw := view(buf[:k])
		width := len(raw) / k
		put(raw, src[at*width:(at+k)*width], width, big)
		if bad := cast(dst[at:at+k], buf[:k]); bad >= 0 {
			return &RangeError{Index: int64(at + bad), Value: buf[bad], Type: mem}
		}
	}
	return nil
}

// castAny casts len(dst) elements of src from position at on.
func castAny[D number](dst []D, src any, at int) int {
	end := at + len(dst)
	switch s := src.(type) {
	case []int8:
		return cast(dst, s[at:end])
	case []int16:
		return cast(dst, s[at:end])
	case []int32:
		return cast(dst, s[at:end])
	case []int64:
		return cast(dst, s[at:end])
	case []int:
		return cast(dst, s[at:end])
	case []uint8:
		return cast(dst, s[at:end])
	case []uint16:
		return cast(dst, s[at:end])
	case []uint32:
		return cast(dst, s[at:end])
	case []uint64:
		return cast(dst, s[at:end])
	case []uint:
		return cast(dst, s[at:end])
	case []float32:
		return cast(dst, s[at:end])
	case []float64:
		return cast(dst, s[at:end])
	}
	return 0
}

func rangeError(i int, src any, t Type) error {
	return &RangeError{Index: int64(i), Value: elem(src, i), Type: t}
}
