package elem

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Swap copies src to dst and reverses the bytes of every element of width bytes (1, 2, 4 or 8). dst may be src or must not
// overlap it. dst is at least as long as src, and len(src) is a multiple of width. Any other width leaves dst unchanged.
//
// Swap moves eight bytes at a time in native order, which does not matter for a reversal: two 32-bit swaps are one 64-bit
// reversal and a rotation by half.
func Swap(dst, src []byte, width int) {
	if len(dst) < len(src) {
		src = src[:len(dst)-len(dst)%max(width, 1)]
	}
	dst = dst[:len(src)]
	switch width {
	case 1:
		copy(dst, src)
	case 2:
		swap[uint16](dst, src)
	case 4:
		swap[uint32](dst, src)
	case 8:
		swap[uint64](dst, src)
	}
}

// rev reverses the bytes of each T in x. The compiler keeps only one case for each T and inlines it.
func rev[T uint16 | uint32 | uint64](x uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	switch unsafe.Sizeof(T(0)) {
	case 2:
		return x&even<<8 | x>>8&even
	case 4:
		return bits.RotateLeft64(bits.ReverseBytes64(x), 32)
	}
	return bits.ReverseBytes64(x)
}

func swap[T uint16 | uint32 | uint64](dst, src []byte) {
	ne := binary.NativeEndian
	i := 0
	for ; i+64 <= len(src) && i+64 <= len(dst); i += 64 {
		s, d := src[i:i+64:i+64], dst[i:i+64:i+64]
		x0 := rev[T](ne.Uint64(s))
		x1 := rev[T](ne.Uint64(s[8:]))
		x2 := rev[T](ne.Uint64(s[16:]))
		x3 := rev[T](ne.Uint64(s[24:]))
		x4 := rev[T](ne.Uint64(s[32:]))
		x5 := rev[T](ne.Uint64(s[40:]))
		x6 := rev[T](ne.Uint64(s[48:]))
		x7 := rev[T](ne.Uint64(s[56:]))
		ne.PutUint64(d, x0)
		ne.PutUint64(d[8:], x1)
		ne.PutUint64(d[16:], x2)
		ne.PutUint64(d[24:], x3)
		ne.PutUint64(d[32:], x4)
		ne.PutUint64(d[40:], x5)
		ne.PutUint64(d[48:], x6)
		ne.PutUint64(d[56:], x7)
	}
	size := int(unsafe.Sizeof(T(0)))
	for src, dst = src[i:], dst[i:]; len(src) >= size && len(dst) >= size; src, dst = src[size:], dst[size:] {
		switch size {
		case 2:
			ne.PutUint16(dst, bits.ReverseBytes16(ne.Uint16(src)))
		case 4:
			ne.PutUint32(dst, bits.ReverseBytes32(ne.Uint32(src)))
		case 8:
			ne.PutUint64(dst, bits.ReverseBytes64(ne.Uint64(src)))
		}
	}
}
