package blob

import (
	"slices"
	"sort"
	"sync"

	"blobio/internal/crccat"
)

// seg is the checksum of bytes [at, at+n) of an extent.
type seg struct {
	at, n int64
	crc   uint32
}

// sums holds the checksums of the extents of one subfile while they are
// written piece by piece, in any order, by several workers. Pieces that touch
// are joined at once, so that a complete extent is one seg.
type sums struct {
	mu   sync.Mutex
	ext  map[int64][]seg // by extent, sorted by at
	redo map[int64]bool  // extents written twice: to be summed anew from the file
	join crccat.Joiner
}

func newSums() *sums { return &sums{ext: map[int64][]seg{}, redo: map[int64]bool{}} }

// add records one piece. A piece that overlaps an earlier one marks the extent for redo.
func (s *sums) add(ext int64, g seg) {
	if g.n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redo[ext] {
		return
	}
	list := s.ext[ext]
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= g.at })
	if i > 0 && list[i-1].at+list[i-1].n > g.at || i < len(list) && g.at+g.n > list[i].at {
		s.redo[ext] = true
		delete(s.ext, ext)
		return
	}
	before := i > 0 && list[i-1].at+list[i-1].n == g.at
	after := i < len(list) && g.at+g.n == list[i].at
	switch {
	case before && after:
		p := &list[i-1]
		p.crc = s.join.Cat(s.join.Cat(p.crc, g.crc, g.n), list[i].crc, list[i].n)
		p.n += g.n + list[i].n
		list = slices.Delete(list, i, i+1)
	case before:
		p := &list[i-1]
		p.crc = s.join.Cat(p.crc, g.crc, g.n)
		p.n += g.n
	case after:
		p := &list[i]
		p.crc = s.join.Cat(g.crc, p.crc, p.n)
		p.at, p.n = g.at, p.n+g.n
	default:
		list = slices.Insert(list, i, g)
	}
	s.ext[ext] = list
}

// again marks an extent that is about to be written a second time.
func (s *sums) again(ext int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redo[ext] = true
	delete(s.ext, ext)
}

// whole returns the checksum of an extent of n bytes, if it is complete.
func (s *sums) whole(ext, n int64) (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return 0, !s.redo[ext]
	}
	l := s.ext[ext]
	if len(l) != 1 || l[0].at != 0 || l[0].n != n {
		return 0, false
	}
	return l[0].crc, true
}
