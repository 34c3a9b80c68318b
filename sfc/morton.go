package sfc

// Morton returns the position of point p on the Morton curve through the cube
// of 2^bits points per axis, 0 < bits <= MaxBits, in rank dimensions (1 to 3):
// the bits of the coordinates interleaved, x in the lowest place. Coordinates
// beyond rank are not looked at.
func Morton(rank, bits int, p [3]uint32) Key {
	var k Key
	for b := bits - 1; b >= 0; b-- {
		var d uint32
		for i := rank - 1; i >= 0; i-- {
			d = d<<1 | p[i]>>b&1
		}
		k = k.push(d, rank)
	}
	return k
}

// MortonPoint is the inverse of Morton.
func MortonPoint(rank, bits int, k Key) [3]uint32 {
	var p [3]uint32
	for b := bits - 1; b >= 0; b-- {
		d := k.digit(b*rank, rank)
		for i := range rank {
			p[i] = p[i]<<1 | d>>i&1
		}
	}
	return p
}
