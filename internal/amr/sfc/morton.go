package sfc

// Morton returns the position of point p on the Morton curve through the cube of 2^bits points per axis, 0 < bits <= MaxBits, in
// three dimensions. It interleaves the bits of the coordinates, with x lowest. It ignores the bits of a coordinate from bit
// number bits on.
func Morton(bits int, p [3]uint32) Key {
	mask := uint32(1<<uint(bits) - 1)
	// The low 21 bits of each coordinate give 63 bits of the key. The remaining bits go above them.
	const low = 21
	var lo, hi uint64
	for i := range 3 {
		c := p[i] & mask
		lo |= spread(c&(1<<low-1)) << i
		hi |= spread(c>>low) << i
	}
	return Key{Hi: uint32(hi >> 1), Lo: lo | hi<<63}
}

// spread moves bit i of v to bit 3i. v has at most 21 bits.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<32) & 0x001f00000000ffff
	x = (x | x<<16) & 0x001f0000ff0000ff
	x = (x | x<<8) & 0x100f00f00f00f00f
	x = (x | x<<4) & 0x10c30c30c30c30c3
	return (x | x<<2) & 0x1249249249249249
}
