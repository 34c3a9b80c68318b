// Package crccat joins CRC-32 (IEEE) checksums. It computes the checksum of A followed by B from the two checksums and
// the length of B, without the bytes of A and B. So the writers of one extent can checksum their own pieces in any order.
//
// n zero bytes multiply a CRC register by x^(8n) modulo the polynomial. Both are polynomials over GF(2), kept in the
// reflected order of hash/crc32 (bit 31 is x^0).
package crccat

import "hash/crc32"

// MaxPieces is the maximum number of piece checksums of a dataset. They take 256 MiB of its manifest. A dataset with more
// pieces has only checksums of extents.
const MaxPieces = 1 << 25

const poly = crc32.IEEE // reflected: 0xedb88320

// mul returns a*b modulo the polynomial.
func mul(a, b uint32) uint32 {
	var p uint32
	for m := uint32(1) << 31; a != 0; m >>= 1 {
		if a&m != 0 {
			p ^= b
			a &^= m
		}
		b = b>>1 ^ poly&-(b&1)
	}
	return p
}

// squares[k] is x^(2^k) modulo the polynomial.
var squares = func() (t [64]uint32) {
	t[0] = 1 << 30 // x^1
	for k := 1; k < len(t); k++ {
		t[k] = mul(t[k-1], t[k-1])
	}
	return t
}()

// Shift returns x^(8n), the factor for a checksum of data that n more bytes follow.
func Shift(n int64) uint32 {
	p := uint32(1) << 31 // x^0
	for k := 3; n != 0; n, k = n>>1, k+1 {
		if n&1 != 0 {
			p = mul(squares[k], p)
		}
	}
	return p
}

// Cat returns the checksum of a||b, where b is n bytes long.
func Cat(a, b uint32, n int64) uint32 { return mul(Shift(n), a) ^ b }

// Zeros returns the checksum of n zero bytes.
func Zeros(n int64) uint32 {
	return ^mul(Shift(n), 0xffffffff)
}

// Repeat returns the checksum of n copies of b.
func Repeat(b []byte, n int64) uint32 {
	all := uint32(0)
	part, size := crc32.ChecksumIEEE(b), int64(len(b)) // checksum and size of 1, 2, 4, ... copies of b
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			all = Cat(all, part, size)
		}
		part, size = Cat(part, part, size), 2*size
	}
	return all
}

// A Joiner joins pieces with recurring lengths and caches their factors. It is not safe for concurrent use.
type Joiner struct{ shift map[int64]uint32 }

// Cat is the function Cat with a cached factor for n.
func (j *Joiner) Cat(a, b uint32, n int64) uint32 {
	s, ok := j.shift[n]
	if !ok {
		if j.shift == nil || len(j.shift) > 1<<12 {
			j.shift = make(map[int64]uint32)
		}
		s = Shift(n)
		j.shift[n] = s
	}
	return mul(s, a) ^ b
}
