package h5

import (
	"encoding/binary"
	"math/bits"
)

// lookup3 is Bob Jenkins' 2006 hash of that name over little-endian words,
// with initial value 0: the checksum of all HDF5 metadata that has one, and
// the hash of names in dense groups and attributes.
func lookup3(k []byte) uint32 {
	a := 0xdeadbeef + uint32(len(k))
	b, c := a, a
	add := func(k []byte) {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
	}
	for ; len(k) > 12; k = k[12:] {
		add(k)
		for _, turn := range [6]int{4, 6, 8, 16, 19, 4} { // the words change places at each step
			a -= c
			a ^= bits.RotateLeft32(c, turn)
			c += b
			a, b, c = b, c, a
		}
	}
	if len(k) == 0 {
		return c
	}
	var tail [12]byte
	copy(tail[:], k)
	add(tail[:])
	for _, turn := range [7]int{14, 11, 25, 16, 4, 14, 24} {
		c ^= b
		c -= bits.RotateLeft32(b, turn)
		a, b, c = b, c, a
	}
	return b
}
