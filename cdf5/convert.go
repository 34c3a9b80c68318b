package cdf5

import (
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

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
	n, _, err := checkTypes(t, src)
	if err != nil {
		return err
	}
	width := t.Size()
	if len(dst)/width < n {
		return fault.Usage("%d bytes for %d elements of %v", len(dst), n, t)
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

// FromFile is the reverse of ToFile: file bytes of type t become elements of
// the memory slice dst, as many as it is long. src has at least
// len(dst)*t.Size() bytes. Char goes to []byte and nothing else. The range
// rules are ToFile's, with the type of dst as the target.
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
		return fault.Usage("%d bytes for %d elements of %v", len(src), n, t)
	}
	src = src[:n*width]
	if bad, v := elem.Load(elem.Fixed(dst), src, big, t.elem()); bad >= 0 {
		return &RangeError{Index: int64(bad), Value: v, Type: mem}
	}
	return nil
}

// CheckRange reports whether ToFile would convert src to type t, without doing
// it: nil, a *RangeError with the first element that does not fit, or ErrUsage.
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

// checkTypes reports whether memory like v can hold t at all.
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
