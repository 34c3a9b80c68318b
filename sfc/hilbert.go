package sfc

// HilbertPrefix TODO
func HilbertPrefix(rank, bits, depth int, p [3]uint32) Key { return Key{} }
