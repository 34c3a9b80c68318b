package h5

import (
	"blobio/internal/base/fault"
	"sync"
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
