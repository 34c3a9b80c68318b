package h5

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"blobio/internal/base/fault"
)

// sealSet remembers which checksummed blocks were found good, so that a block
// that is read in parts, many times, is hashed once. Safe for concurrent use.
type sealSet struct {
	mu sync.Mutex
	m  map[[2]int64]struct{}
}

const maxSeals = 1 << 16 // then it is emptied; hashing again does no harm

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

// sealed returns a cursor over a block of n bytes at addr whose last four are
// the checksum of the others. The checksum is verified first, and is not part
// of what the cursor reads.
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

// sealedPart returns a cursor over k bytes, from byte from on, of a block as
// sealed takes it. Once the block is verified only those bytes are read.
func (f *File) sealedPart(addr, n, from, k int64, name string) *cursor {
	if !f.seals.has(addr, n) {
		if c := f.sealed(addr, n, name); c.err != nil {
			return c
		}
	}
	return f.at(addr+from, k, name)
}

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
