package sfc

import "cmp"

// MaxBits is the largest number of bits of a coordinate.
const MaxBits = 32

// Key is a position on a curve: an integer of 96 bits, Hi the upper 32. A curve in rank dimensions
// through 2^bits points per axis has keys below 2^(rank*bits).
type Key struct {
	Hi uint32
	Lo uint64
}

// Compare orders keys.
func (k Key) Compare(l Key) int {
	if c := cmp.Compare(k.Hi, l.Hi); c != 0 {
		return c
	}
	return cmp.Compare(k.Lo, l.Lo)
}

// push shifts k up by n <= 3 bits and puts d into the low bits.
func (k Key) push(d uint32, n int) Key {
	return Key{Hi: k.Hi<<n | uint32(k.Lo>>(64-n)), Lo: k.Lo<<n | uint64(d)}
}

// shift returns k << n, n < 96.
func (k Key) shift(n int) Key {
	switch {
	case n == 0:
		return k
	case n >= 64:
		return Key{Hi: uint32(k.Lo) << (n - 64)}
	}
	return Key{Hi: k.Hi<<n | uint32(k.Lo>>(64-n)), Lo: k.Lo << n}
}
