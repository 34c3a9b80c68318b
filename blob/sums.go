package blob

import (
	"hash/crc32"
	"slices"
	"sort"
	"sync"

	"blobio/internal/crccat"
)

// defaultPiece is the length in bytes of the pieces of an extent that have a checksum of their own: 8 digits in the
// manifest for each.
const defaultPiece = 1 << 20

// seg is the checksum of bytes [at, at+n) of an extent.
type seg struct {
	at, n int64
	crc   uint32
}

// sums holds the checksums of the extents of one subfile while they are
// written piece by piece, in any order, by several workers. Segments that touch
// are joined at once within a piece, and never over the border of one, so that a complete
// extent is one seg for each of its pieces.
type sums struct {
	piece int64 // length of a piece in bytes; 0: an extent is one piece
	keep  bool  // of segments that overlap the first counts; otherwise the extent is to be summed anew
	mu    sync.Mutex
	ext   map[int64][]seg // by extent, sorted by at
	redo  map[int64]bool  // extents written twice: to be summed anew from the file
	join  crccat.Joiner
}

func newSums(piece int64) *sums {
	return &sums{piece: piece, ext: map[int64][]seg{}, redo: map[int64]bool{}}
}

// within returns how many of n bytes from at on are in the piece of the first.
func (s *sums) within(at, n int64) int64 {
	if s.piece == 0 {
		return n
	}
	return min(n, s.piece-at%s.piece)
}

// border says whether a piece begins at at.
func (s *sums) border(at int64) bool { return s.piece != 0 && at%s.piece == 0 }

// sum adds bytes of an extent.
func (s *sums) sum(ext, at int64, b []byte) {
	for len(b) > 0 {
		n := s.within(at, int64(len(b)))
		s.add(ext, seg{at, n, crc32.ChecksumIEEE(b[:n])})
		at, b = at+n, b[n:]
	}
}

// add records one segment, which is within a piece. One that overlaps an earlier one marks the extent for redo.
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
		if !s.keep {
			s.redo[ext] = true
			delete(s.ext, ext)
		}
		return
	}
	before := i > 0 && list[i-1].at+list[i-1].n == g.at && !s.border(g.at)
	after := i < len(list) && g.at+g.n == list[i].at && !s.border(list[i].at)
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

// whole returns the checksum of an extent of n bytes and, if it is longer than a piece, those of its pieces, if it is complete.
func (s *sums) whole(ext, n int64) (crc uint32, pieces []uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return 0, nil, !s.redo[ext]
	}
	crc, pieces, end := s.joined(ext)
	return crc, pieces, end == n
}

// joined is whole for an extent that is as long as its segments, if they leave no holes (n is 0 then). The lock is held.
func (s *sums) joined(ext int64) (crc uint32, pieces []uint32, n int64) {
	l := s.ext[ext]
	for _, g := range l {
		if g.at != n {
			return 0, nil, 0
		}
		crc = s.join.Cat(crc, g.crc, g.n)
		n += g.n
	}
	if len(l) > 1 {
		for _, g := range l {
			pieces = append(pieces, g.crc)
		}
	}
	return crc, pieces, n
}

// end is where the last segment of an extent ends.
func (s *sums) end(ext int64) int64 {
	if l := s.ext[ext]; len(l) > 0 {
		return l[len(l)-1].at + l[len(l)-1].n
	}
	return 0
}
