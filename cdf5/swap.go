package cdf5

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
	for len(src) >= 32 && len(dst) >= 32 {
		a, b := ne.Uint64(src), ne.Uint64(src[8:])
		c, d := ne.Uint64(src[16:]), ne.Uint64(src[24:])
		ne.PutUint64(dst, rev2(a))
		ne.PutUint64(dst[8:], rev2(b))
		ne.PutUint64(dst[16:], rev2(c))
		ne.PutUint64(dst[24:], rev2(d))
		src, dst = src[32:], dst[32:]
	}
	for len(src) >= 2 && len(dst) >= 2 {
		ne.PutUint16(dst, bits.ReverseBytes16(ne.Uint16(src)))
		src, dst = src[2:], dst[2:]
	}
}

func swap4(dst, src []byte) {
	ne := binary.NativeEndian
	for len(src) >= 32 && len(dst) >= 32 {
		a, b := ne.Uint64(src), ne.Uint64(src[8:])
		c, d := ne.Uint64(src[16:]), ne.Uint64(src[24:])
		ne.PutUint64(dst, rev4(a))
		ne.PutUint64(dst[8:], rev4(b))
		ne.PutUint64(dst[16:], rev4(c))
		ne.PutUint64(dst[24:], rev4(d))
		src, dst = src[32:], dst[32:]
	}
	for len(src) >= 4 && len(dst) >= 4 {
		ne.PutUint32(dst, bits.ReverseBytes32(ne.Uint32(src)))
		src, dst = src[4:], dst[4:]
	}
}

func swap8(dst, src []byte) {
	ne := binary.NativeEndian
	for len(src) >= 32 && len(dst) >= 32 {
		a, b := ne.Uint64(src), ne.Uint64(src[8:])
		c, d := ne.Uint64(src[16:]), ne.Uint64(src[24:])
		ne.PutUint64(dst, bits.ReverseBytes64(a))
		ne.PutUint64(dst[8:], bits.ReverseBytes64(b))
		ne.PutUint64(dst[16:], bits.ReverseBytes64(c))
		ne.PutUint64(dst[24:], bits.ReverseBytes64(d))
		src, dst = src[32:], dst[32:]
	}
	for len(src) >= 8 && len(dst) >= 8 {
		ne.PutUint64(dst, bits.ReverseBytes64(ne.Uint64(src)))
		src, dst = src[8:], dst[8:]
	}
}
