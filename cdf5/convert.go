package cdf5

import (
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// ToFile stores the elements of the memory slice src as file bytes of type t, big-endian if big. dst has at least
// n*t.Size() bytes for the n elements of src. Char accepts only a string or []byte. The numeric types accept every numeric
// slice, converted by netCDF's rules:
//
//   - A value outside the range of t is a *RangeError and ends the conversion (dst may be partly written).
//   - A float is compared with the range of an integer type before its fraction is dropped: 127.5 does not fit a byte,
//     and -0.5 fits no unsigned type. NaN and infinities fit no integer type.
//   - A conversion from float64 to float32 keeps NaN and infinities. A finite value beyond the largest float32 does not fit.
//   - Integers converted to a float type are rounded.
//
// Wrong argument types and sizes are ErrUsage.
func ToFile(dst []byte, big bool, t Type, src any) error {
	n, _, err := checkTypes(t, src)
	if err != nil {
		return err
	}
	width := t.Size()
	if len(dst)/width < n {
		return fault.Usage("dst has %d bytes, want at least %d for %d elements of type %v", len(dst), n*width, n, t)
	}
	dst = dst[:n*width]
	if s, ok := src.(string); ok {
		copy(dst, s)
		return nil
	}
	if bad := elem.Store(dst, big, t.elem(), elem.Fixed(src)); bad >= 0 {
		return rangeError(bad, src, t)
	}
	return nil
}

// FromFile is the reverse of ToFile: it converts file bytes of type t into the elements of the memory slice dst. src has at least
// len(dst)*t.Size() bytes. Char converts only to []byte. The range rules of ToFile apply, with the type of dst as the target.
func FromFile(dst any, src []byte, big bool, t Type) error {
	if _, ok := dst.(string); ok {
		return fault.Usage("destination is a string, want a slice")
	}
	n, mem, err := checkTypes(t, dst)
	if err != nil {
		return err
	}
	width := t.Size()
	if len(src)/width < n {
		return fault.Usage("src has %d bytes, want at least %d for %d elements of type %v", len(src), n*width, n, t)
	}
	src = src[:n*width]
	if bad, v := elem.Load(elem.Fixed(dst), src, big, t.elem()); bad >= 0 {
		return &RangeError{Index: int64(bad), Value: v, Type: mem}
	}
	return nil
}

// CheckRange checks whether ToFile can convert src to type t. It returns nil, a *RangeError for the first element that does not
// fit, or ErrUsage.
func CheckRange(t Type, src any) error {
	_, _, err := checkTypes(t, src)
	if err != nil || t == Char {
		return err
	}
	if bad := elem.Check(t.elem(), elem.Fixed(src)); bad >= 0 {
		return rangeError(bad, src, t)
	}
	return nil
}

// checkTypes checks whether the memory type of v can hold t.
func checkTypes(t Type, v any) (n int, mem Type, err error) {
	n, mem, ok := SliceLen(v)
	switch {
	case !ok:
		return 0, 0, fault.Usage("cannot convert %T", v)
	case !t.Valid():
		return 0, 0, fault.Usage("%v does not exist", t)
	case t == Char && mem != Char && mem != UByte, t != Char && mem == Char:
		return 0, 0, fault.Usage("no conversion between %T and %v", v, t)
	}
	return n, mem, nil
}

func rangeError(i int, src any, t Type) error {
	return &RangeError{Index: int64(i), Value: elem.At(src, i), Type: t}
}
