package h5

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"blobio/internal/base/fault"
)

// sealSet records verified blocks, so that a block read in many parts is hashed only once. It is safe for concurrent use.
type sealSet struct {
	mu sync.Mutex
	m  map[[2]int64]struct{}
}

const maxSeals = 1 << 16 // maximum of entries before the set is emptied; hashing again is harmless

func (s *sealSet) has(addr, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[[2]int64{addr, n}]
	return ok
}

func (s *sealSet) add(addr, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil || len(s.m) >= maxSeals {
		s.m = make(map[[2]int64]struct{})
	}
	s.m[[2]int64{addr, n}] = struct{}{}
}

// sealed returns a cursor over a block of n bytes at addr without the checksum in its last four bytes. It verifies the checksum
// first.
func (f *File) sealed(addr, n int64, name string) *cursor {
	c := f.at(addr, n, name)
	if c.err == nil && n < 4 {
		c.fail(c.off, name, fault.ErrCorrupt, "%d bytes, want at least 4", n)
	}
	if c.err != nil {
		return c
	}
	if !f.seals.has(addr, n) {
		c.p = int(n) - 4
		c.checksum(name)
		if c.err == nil {
			f.seals.add(addr, n)
		}
	}
	c.b, c.p = c.b[:n-4], 0
	return c
}

// sealedPart returns a cursor over k bytes, from byte from, of a block. Like sealed, it verifies the block first. If the block
// was verified before, it reads only the k bytes.
func (f *File) sealedPart(addr, n, from, k int64, name string) *cursor {
	if !f.seals.has(addr, n) {
		if c := f.sealed(addr, n, name); c.err != nil {
			return c
		}
	}
	return f.at(addr+from, k, name)
}

// lookup3 is Bob Jenkins' 2006 hash lookup3 over little-endian words, with initial value 0. HDF5 uses it as the checksum of
// metadata and as the hash of names in dense groups and attributes.
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
		for _, turn := range [6]int{4, 6, 8, 16, 19, 4} { // the words rotate at each step
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
