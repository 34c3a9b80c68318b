package codec

import "encoding/binary"

var le = binary.LittleEndian

// Shuffle writes the planes of the elements in src, size bytes each, to dst. dst has the length of src and does not overlap it.
func Shuffle(dst, src []byte, size int) {
	dst = dst[:len(src)]
	if size < 1 {
		size = 1
	}
	n := len(src) / size
	done := 0
	switch size {
	case 1:
		copy(dst, src)
		return
	case 4:
		done = shuffle4(dst, src, n)
	case 8:
		done = shuffle8(dst, src, n)
	}
	for k := range size {
		plane := dst[k*n : (k+1)*n]
		for i := done; i < n; i++ {
			plane[i] = src[i*size+k]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// Unshuffle is the reverse of Shuffle.
func Unshuffle(dst, src []byte, size int) {
	dst = dst[:len(src)]
	if size < 1 {
		size = 1
	}
	n := len(src) / size
	done := 0
	switch size {
	case 1:
		copy(dst, src)
		return
	case 4:
		done = unshuffle4(dst, src, n)
	case 8:
		done = unshuffle8(dst, src, n)
	}
	for k := range size {
		plane := src[k*n : (k+1)*n]
		for i := done; i < n; i++ {
			dst[i*size+k] = plane[i]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// pairs turns the bytes a0 a1 a2 a3 b0 b1 b2 b3 into a0 b0 a1 b1 a2 b2 a3 b3.
func pairs(x uint64) uint64 {
	t := (x ^ x>>16) & 0x00000000FFFF0000
	x ^= t ^ t<<16
	t = (x ^ x>>8) & 0x0000FF000000FF00
	return x ^ t ^ t<<8
}

func unpairs(x uint64) uint64 {
	t := (x ^ x>>8) & 0x0000FF000000FF00
	x ^= t ^ t<<8
	t = (x ^ x>>16) & 0x00000000FFFF0000
	return x ^ t ^ t<<16
}

// quads transposes 4 x 4 numbers of 16 bits.
func quads(a, b, c, d uint64) (w, x, y, z uint64) {
	const even, low = 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF
	p, q := a&even|b&even<<16, a>>16&even|b&^even
	r, s := c&even|d&even<<16, c>>16&even|d&^even
	return p&low | r<<32, q&low | s<<32, p>>32 | r&^low, q>>32 | s&^low
}

// shuffle4 shuffles the elements up to a multiple of 8 and returns their number.
func shuffle4(dst, src []byte, n int) int {
	m := n &^ 7
	p0, p1, p2, p3 := dst[:m], dst[n:n+m], dst[2*n:2*n+m], dst[3*n:3*n+m]
	for i := 0; i < m; i += 8 {
		s := src[4*i : 4*i+32]
		a, b, c, d := quads(pairs(le.Uint64(s)), pairs(le.Uint64(s[8:])), pairs(le.Uint64(s[16:])), pairs(le.Uint64(s[24:])))
		le.PutUint64(p0[i:], a)
		le.PutUint64(p1[i:], b)
		le.PutUint64(p2[i:], c)
		le.PutUint64(p3[i:], d)
	}
	return m
}

func unshuffle4(dst, src []byte, n int) int {
	m := n &^ 7
	p0, p1, p2, p3 := src[:m], src[n:n+m], src[2*n:2*n+m], src[3*n:3*n+m]
	for i := 0; i < m; i += 8 {
		a, b, c, d := quads(le.Uint64(p0[i:]), le.Uint64(p1[i:]), le.Uint64(p2[i:]), le.Uint64(p3[i:]))
		s := dst[4*i : 4*i+32]
		le.PutUint64(s, unpairs(a))
		le.PutUint64(s[8:], unpairs(b))
		le.PutUint64(s[16:], unpairs(c))
		le.PutUint64(s[24:], unpairs(d))
	}
	return m
}

func transpose8(w *[8]uint64) {
	const m32, m16, m8 = 0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF
	for i := range 4 {
		a, b := w[i], w[i+4]
		w[i], w[i+4] = a&m32|b<<32, a>>32|b&^m32
	}
	for _, i := range [4]int{0, 1, 4, 5} {
		a, b := w[i], w[i+2]
		w[i], w[i+2] = a&m16|b&m16<<16, a>>16&m16|b&^m16
	}
	for i := 0; i < 8; i += 2 {
		a, b := w[i], w[i+1]
		w[i], w[i+1] = a&m8|b&m8<<8, a>>8&m8|b&^m8
	}
}

func shuffle8(dst, src []byte, n int) int {
	m := n &^ 7
	var w [8]uint64
	for i := 0; i < m; i += 8 {
		s := src[8*i : 8*i+64]
		for k := range w {
			w[k] = le.Uint64(s[8*k:])
		}
		transpose8(&w)
		for k := range w {
			le.PutUint64(dst[k*n+i:], w[k])
		}
	}
	return m
}

func unshuffle8(dst, src []byte, n int) int {
	m := n &^ 7
	var w [8]uint64
	for i := 0; i < m; i += 8 {
		for k := range w {
			w[k] = le.Uint64(src[k*n+i:])
		}
		transpose8(&w)
		s := dst[8*i : 8*i+64]
		for k := range w {
			le.PutUint64(s[8*k:], w[k])
		}
	}
	return m
}
