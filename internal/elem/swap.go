package elem

import (
	"encoding/binary"
	"math/bits"
)

// Swap copies src to dst with the bytes of every element of width bytes (1,
// 2, 4 or 8) reversed. dst may be src, or must not overlap it; it is at least
// as long, and len(src) is a multiple of width. Any other width leaves dst
// unchanged.
//
// Elements are moved eight bytes at a time in the order of the machine, which
// is of no consequence for a reversal: two 32-bit swaps are one 64-bit
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
		swap2(dst, src)
	case 4:
		swap4(dst, src)
	case 8:
		swap8(dst, src)
	}
}

const evenBytes = 0x00ff00ff00ff00ff

func rev2(x uint64) uint64 { return x&evenBytes<<8 | x>>8&evenBytes }
func rev4(x uint64) uint64 { return bits.RotateLeft64(bits.ReverseBytes64(x), 32) }

func swap2(dst, src []byte) {
	ne := binary.NativeEndian
	i := 0
	for ; i+64 <= len(src) && i+64 <= len(dst); i += 64 {
		s, d := src[i:i+64:i+64], dst[i:i+64:i+64]
		x0, x1, x2, x3 := ne.Uint64(s), ne.Uint64(s[8:]), ne.Uint64(s[16:]), ne.Uint64(s[24:])
		x4, x5, x6, x7 := ne.Uint64(s[32:]), ne.Uint64(s[40:]), ne.Uint64(s[48:]), ne.Uint64(s[56:])
		ne.PutUint64(d, rev2(x0))
		ne.PutUint64(d[8:], rev2(x1))
		ne.PutUint64(d[16:], rev2(x2))
		ne.PutUint64(d[24:], rev2(x3))
		ne.PutUint64(d[32:], rev2(x4))
		ne.PutUint64(d[40:], rev2(x5))
		ne.PutUint64(d[48:], rev2(x6))
		ne.PutUint64(d[56:], rev2(x7))
	}
	src, dst = src[i:], dst[i:]
	for len(src) >= 2 && len(dst) >= 2 {
		ne.PutUint16(dst, bits.ReverseBytes16(ne.Uint16(src)))
		src, dst = src[2:], dst[2:]
	}
}

func swap4(dst, src []byte) {
	ne := binary.NativeEndian
	i := 0
	for ; i+64 <= len(src) && i+64 <= len(dst); i += 64 {
		s, d := src[i:i+64:i+64], dst[i:i+64:i+64]
		x0, x1, x2, x3 := ne.Uint64(s), ne.Uint64(s[8:]), ne.Uint64(s[16:]), ne.Uint64(s[24:])
		x4, x5, x6, x7 := ne.Uint64(s[32:]), ne.Uint64(s[40:]), ne.Uint64(s[48:]), ne.Uint64(s[56:])
		ne.PutUint64(d, rev4(x0))
		ne.PutUint64(d[8:], rev4(x1))
		ne.PutUint64(d[16:], rev4(x2))
		ne.PutUint64(d[24:], rev4(x3))
		ne.PutUint64(d[32:], rev4(x4))
		ne.PutUint64(d[40:], rev4(x5))
		ne.PutUint64(d[48:], rev4(x6))
		ne.PutUint64(d[56:], rev4(x7))
	}
	src, dst = src[i:], dst[i:]
	for len(src) >= 4 && len(dst) >= 4 {
		ne.PutUint32(dst, bits.ReverseBytes32(ne.Uint32(src)))
		src, dst = src[4:], dst[4:]
	}
}

func swap8(dst, src []byte) {
	ne := binary.NativeEndian
	i := 0
	for ; i+64 <= len(src) && i+64 <= len(dst); i += 64 {
		s, d := src[i:i+64:i+64], dst[i:i+64:i+64]
		x0, x1, x2, x3 := ne.Uint64(s), ne.Uint64(s[8:]), ne.Uint64(s[16:]), ne.Uint64(s[24:])
		x4, x5, x6, x7 := ne.Uint64(s[32:]), ne.Uint64(s[40:]), ne.Uint64(s[48:]), ne.Uint64(s[56:])
		ne.PutUint64(d, bits.ReverseBytes64(x0))
		ne.PutUint64(d[8:], bits.ReverseBytes64(x1))
		ne.PutUint64(d[16:], bits.ReverseBytes64(x2))
		ne.PutUint64(d[24:], bits.ReverseBytes64(x3))
		ne.PutUint64(d[32:], bits.ReverseBytes64(x4))
		ne.PutUint64(d[40:], bits.ReverseBytes64(x5))
		ne.PutUint64(d[48:], bits.ReverseBytes64(x6))
		ne.PutUint64(d[56:], bits.ReverseBytes64(x7))
	}
	src, dst = src[i:], dst[i:]
	for len(src) >= 8 && len(dst) >= 8 {
		ne.PutUint64(dst, bits.ReverseBytes64(ne.Uint64(src)))
		src, dst = src[8:], dst[8:]
	}
}
