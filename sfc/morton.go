package sfc

// Morton returns the position of point p on the Morton curve through the cube
// of 2^bits points per axis, 0 < bits <= MaxBits, in rank dimensions (1 to 3):
// the bits of the coordinates interleaved, x in the lowest place. Coordinates
// beyond rank, and bits from bits upwards, are not looked at.
func Morton(rank, bits int, p [3]uint32) Key {
	mask := uint32(1<<uint(bits) - 1)
	switch rank {
	case 1:
		return Key{Lo: uint64(p[0] & mask)}
	case 2:
		return Key{Lo: spread2(p[0]&mask) | spread2(p[1]&mask)<<1}
	}
	// 21 bits of each coordinate make 63; the rest goes above them.
	const low = 21
	var lo, hi uint64
	for i := range 3 {
		c := p[i] & mask
		lo |= spread3(c&(1<<low-1)) << i
		hi |= spread3(c>>low) << i
	}
	return Key{Hi: uint32(hi >> 1), Lo: lo | hi<<63}
}

// spread2 moves bit i to bit 2i.
func spread2(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// spread3 moves bit i to bit 3i; v has at most 21 bits.
func spread3(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<32) & 0x001f00000000ffff
	x = (x | x<<16) & 0x001f0000ff0000ff
	x = (x | x<<8) & 0x100f00f00f00f00f
	x = (x | x<<4) & 0x10c30c30c30c30c3
	return (x | x<<2) & 0x1249249249249249
}
