package elem

import "math"

// cast converts src to dst, which has the same length. It returns the index of the first element out of range, or -1.
func cast[D, S Number](dst []D, src []S) int {
	dst = dst[:len(src)]
	fromFloat, toFloat := IsFloat[S](), IsFloat[D]()
	switch {
	case fromFloat && toFloat:
		if isFloat64[S]() && !isFloat64[D]() {
			return narrow(dst, src)
		}
		for i, v := range src {
			dst[i] = D(v)
		}
	case fromFloat:
		lo, hi := limits[D]()
		for i, v := range src {
			// A NaN fails both comparisons.
			if f := float64(v); !(f >= lo && f <= hi) {
				return i
			}
			dst[i] = D(v)
		}
	case toFloat:
		if math.MaxInt == math.MaxInt32 && !isFloat64[D]() {
			for i, v := range src {
				dst[i] = D(nearest(v))
			}
			break
		}
		for i, v := range src {
			dst[i] = D(v)
		}
	default:
		for i, v := range src {
			d := D(v)
			if S(d) != v || (d < 0) != (v < 0) {
				return i
			}
			dst[i] = d
		}
	}
	return -1
}

// nearest returns the float32 nearest to the integer v. It replaces Go's software conversion on 32-bit machines, whose results
// for integers between 2^46 and 2^47 are one unit off (runtime.uint64tofloat32 of Go 1.26).
func nearest[S Number](v S) float32 {
	u, sign := uint64(v), 1.0
	if v < 0 {
		u, sign = -uint64(int64(v)), -1
	}
	// Reduce to the 53 bits of a float64. If any dropped bit was set, set the last kept bit. Then the conversion to float32
	// rounds correctly.
	if cut := u & (1<<11 - 1); u > 1<<53 && cut != 0 {
		u = u&^(1<<11-1) | 1<<11
	}
	return float32(sign * float64(u))
}

// narrow converts float64 to float32. Infinities and NaN stay.
func narrow[D, S Number](dst []D, src []S) int {
	dst = dst[:len(src)]
	for i, v := range src {
		f := float64(v)
		if a := math.Abs(f); a > math.MaxFloat32 && a <= math.MaxFloat64 {
			return i
		}
		dst[i] = D(v)
	}
	return -1
}

// checkNarrow is narrow without the conversion. As integers without the sign bit, the bits of finite values have the order of
// the magnitudes, and are less than the bits of infinity and NaN.
func checkNarrow(src []float64) (bad int) {
	const (
		most = 0x47EFFFFFE0000000 // the greatest float32
		inf  = 0x7FF0000000000000
	)
	for i, v := range src {
		if x := math.Float64bits(v) &^ (1 << 63); x > most && x < inf {
			return i
		}
	}
	return -1
}

func isFloat64[T Number]() bool {
	var x T
	_, ok := any(x).(float64)
	return ok
}

// limits returns the minimum and maximum float64 values that the integer type T can hold.
func limits[T Number]() (lo, hi float64) {
	bits := 8 * len(Bytes([]T{0}))
	least, most := uint64(0), uint64(math.MaxUint64)>>(64-bits)
	if IsSigned[T]() {
		least, most = ^uint64(0)<<(bits-1), most>>1
	}
	lo, hi = float64(T(least)), float64(T(most))
	if bits == 64 {
		hi = math.Nextafter(hi, 0) // hi was rounded up to a power of two
	}
	return lo, hi
}
