package elem

// block is the number of elements converted at a time. The intermediate array of at most 4 KiB fits the first-level cache.
const block = 512

// Store writes the elements of the slice src as elements of type t to dst, big-endian if big. dst is long enough.
// Numbers are converted by netCDF's rules:
//
//   - A value outside the range of t ends the conversion, and bad is its index (dst may be partly written). Otherwise bad
//     is -1.
//   - A float is compared with the range of an integer type before its fraction is dropped: 127.5 does not fit a byte,
//     and -0.5 fits no unsigned type. NaN and infinities fit no integer type.
//   - A conversion from float64 to float32 keeps NaN and infinities. A finite value beyond the largest float32 does not
//     fit.
//   - Integers converted to a float type are rounded.
//
// t must be valid, and Of must accept the type of the slice src.
func Store(dst []byte, big bool, t Type, src any) (bad int) {
	if mem, b, _ := Of(src); mem == t {
		Reorder(dst, b, t.Size(), big)
		return -1
	}
	return convert(dst, big, t, src)
}

// Check is Store without writing.
func Check(t Type, src any) (bad int) {
	switch mem, _, _ := Of(src); {
	case t.Holds(mem) || t == Float64:
		return -1
	case t == Float32:
		if s, ok := src.([]float64); ok {
			return checkNarrow(s)
		}
		return -1
	}
	return convert(nil, false, t, src)
}

// convert is Store for a type that differs from the type of src. If dst is nil, it only checks the range.
func convert(dst []byte, big bool, t Type, src any) (bad int) { // the types
	switch t {
	case Int8:
		return store[int8](dst, big, src)
	case Int16:
		return store[int16](dst, big, src)
	case Int32:
		return store[int32](dst, big, src)
	case Int64:
		return store[int64](dst, big, src)
	case Uint8:
		return store[uint8](dst, big, src)
	case Uint16:
		return store[uint16](dst, big, src)
	case Uint32:
		return store[uint32](dst, big, src)
	case Uint64:
		return store[uint64](dst, big, src)
	case Float32:
		return store[float32](dst, big, src)
	}
	return store[float64](dst, big, src)
}

func store[D Number](dst []byte, big bool, src any) (bad int) {
	var buf [block]D
	width := len(Bytes(buf[:1]))
	mem, b, _ := Of(src)
	n := len(b) / max(mem.Size(), 1)
	for at := 0; at < n; at += block {
		k := min(block, n-at)
		if bad := castFrom(buf[:k], src, at); bad >= 0 {
			return at + bad
		}
		if dst != nil {
			Reorder(dst[at*width:(at+k)*width], Bytes(buf[:k]), width, big)
		}
	}
	return -1
}

// castFrom casts len(dst) elements of src, from index at.
func castFrom[D Number](dst []D, src any, at int) (bad int) { // the types
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
	case []uint8:
		return cast(dst, s[at:end])
	case []uint16:
		return cast(dst, s[at:end])
	case []uint32:
		return cast(dst, s[at:end])
	case []uint64:
		return cast(dst, s[at:end])
	case []float32:
		return cast(dst, s[at:end])
	case []float64:
		return cast(dst, s[at:end])
	}
	return -1
}

// Load is the reverse of Store. It fills the slice dst from the elements of type t in src. src has as many elements as dst.
// value is the element that does not fit the type of dst.
func Load(dst any, src []byte, big bool, t Type) (bad int, value any) { // the types
	if mem, b, _ := Of(dst); mem == t {
		Reorder(b, src, t.Size(), big)
		return -1, nil
	}
	switch d := dst.(type) {
	case []int8:
		return load(d, src, big, t)
	case []int16:
		return load(d, src, big, t)
	case []int32:
		return load(d, src, big, t)
	case []int64:
		return load(d, src, big, t)
	case []uint8:
		return load(d, src, big, t)
	case []uint16:
		return load(d, src, big, t)
	case []uint32:
		return load(d, src, big, t)
	case []uint64:
		return load(d, src, big, t)
	case []float32:
		return load(d, src, big, t)
	case []float64:
		return load(d, src, big, t)
	}
	return -1, nil
}

func load[D Number](dst []D, src []byte, big bool, t Type) (bad int, value any) { // the types
	switch t {
	case Int8:
		return loadAs[int8](dst, src, big)
	case Int16:
		return loadAs[int16](dst, src, big)
	case Int32:
		return loadAs[int32](dst, src, big)
	case Int64:
		return loadAs[int64](dst, src, big)
	case Uint8:
		return loadAs[uint8](dst, src, big)
	case Uint16:
		return loadAs[uint16](dst, src, big)
	case Uint32:
		return loadAs[uint32](dst, src, big)
	case Uint64:
		return loadAs[uint64](dst, src, big)
	case Float32:
		return loadAs[float32](dst, src, big)
	}
	return loadAs[float64](dst, src, big)
}

func loadAs[S, D Number](dst []D, src []byte, big bool) (bad int, value any) {
	var buf [block]S
	width := len(Bytes(buf[:1]))
	for at := 0; at < len(dst); at += block {
		k := min(block, len(dst)-at)
		Reorder(Bytes(buf[:k]), src[at*width:(at+k)*width], width, big)
		if bad := cast(dst[at:at+k], buf[:k]); bad >= 0 {
			return at + bad, buf[bad]
		}
	}
	return -1, nil
}
