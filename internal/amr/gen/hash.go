package gen

// mix is a bijection of 64-bit numbers with random-looking results: the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func hash(words ...uint64) uint64 {
	var h uint64
	for _, w := range words {
		h = mix(h ^ w)
	}
	return h
}
