// Package checksum joins the checksums of the extents of a subfile from the checksums of the pieces in which they are written or read.
package checksum

import (
	"hash/crc32"
	"slices"
	"sort"
	"sync"

	"blobio/internal/base/crccat"
)

// DefaultPiece is the length in bytes of the pieces of an extent that have a checksum of their own: 8 digits in the
// manifest for each.
const DefaultPiece = 1 << 20

// Seg is the checksum of bytes [at, at+n) of an extent.
type Seg struct {
	At, N int64
	CRC   uint32
}

// Set holds the checksums of the extents of one subfile while they are
// written piece by piece, in any order, by several workers. Segments that touch
// are joined at once within a piece, and never over the border of one, so that a complete
// extent is one seg for each of its pieces.
type Set struct {
	Piece int64 // length of a piece in bytes; 0: an extent is one piece
	Keep  bool  // of segments that overlap the first counts; otherwise the extent is to be summed anew
	Mu    sync.Mutex
	Ext   map[int64][]Seg // by extent, sorted by at
	Redo  map[int64]bool  // extents written twice: to be summed anew from the file
	join  crccat.Joiner
}

// New returns an empty Set. Each piece of an extent, of the given size in bytes, gets a checksum of its own; 0: none gets one.
func New(piece int64) *Set {
	return &Set{Piece: piece, Ext: map[int64][]Seg{}, Redo: map[int64]bool{}}
}

// Within returns how many of n bytes from at on are in the piece of the first.
func (s *Set) Within(at, n int64) int64 {
	if s.Piece == 0 {
		return n
	}
	return min(n, s.Piece-at%s.Piece)
}

// Border reports whether a piece begins at at.
func (s *Set) Border(at int64) bool { return s.Piece != 0 && at%s.Piece == 0 }

// Sum adds bytes of an extent.
func (s *Set) Sum(ext, at int64, b []byte) {
	for len(b) > 0 {
		n := s.Within(at, int64(len(b)))
		s.Add(ext, Seg{at, n, crc32.ChecksumIEEE(b[:n])})
		at, b = at+n, b[n:]
	}
}

// Add records one segment, which is within a piece. One that overlaps an earlier one marks the extent for redo.
func (s *Set) Add(ext int64, g Seg) {
	if g.N == 0 {
		return
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Redo[ext] {
		return
	}
	list := s.Ext[ext]
	i := sort.Search(len(list), func(i int) bool { return list[i].At >= g.At })
	if i > 0 && list[i-1].At+list[i-1].N > g.At || i < len(list) && g.At+g.N > list[i].At {
		if !s.Keep {
			s.Redo[ext] = true
			delete(s.Ext, ext)
		}
		return
	}
	before := i > 0 && list[i-1].At+list[i-1].N == g.At && !s.Border(g.At)
	after := i < len(list) && g.At+g.N == list[i].At && !s.Border(list[i].At)
	switch {
	case before && after:
		p := &list[i-1]
		p.CRC = s.join.Cat(s.join.Cat(p.CRC, g.CRC, g.N), list[i].CRC, list[i].N)
		p.N += g.N + list[i].N
		list = slices.Delete(list, i, i+1)
	case before:
		p := &list[i-1]
		p.CRC = s.join.Cat(p.CRC, g.CRC, g.N)
		p.N += g.N
	case after:
		p := &list[i]
		p.CRC = s.join.Cat(g.CRC, p.CRC, p.N)
		p.At, p.N = g.At, p.N+g.N
	default:
		list = slices.Insert(list, i, g)
	}
	s.Ext[ext] = list
}

// Again marks an extent that is about to be written a second time.
func (s *Set) Again(ext int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Redo[ext] = true
	delete(s.Ext, ext)
}

// Forget drops what is known of an extent.
func (s *Set) Forget(ext int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	delete(s.Redo, ext)
	delete(s.Ext, ext)
}

// Whole returns the checksum of an extent of n bytes and, if it is longer than a piece, the checksums of its pieces, if it is complete.
func (s *Set) Whole(ext, n int64) (crc uint32, pieces []uint32, ok bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if n == 0 {
		return 0, nil, !s.Redo[ext]
	}
	crc, pieces, end := s.Joined(ext)
	return crc, pieces, end == n
}

// Joined is whole for an extent that is as long as its segments, if they leave no holes (n is 0 then). The lock is held.
func (s *Set) Joined(ext int64) (crc uint32, pieces []uint32, n int64) {
	l := s.Ext[ext]
	for _, g := range l {
		if g.At != n {
			return 0, nil, 0
		}
		crc = s.join.Cat(crc, g.CRC, g.N)
		n += g.N
	}
	if len(l) > 1 {
		for _, g := range l {
			pieces = append(pieces, g.CRC)
		}
	}
	return crc, pieces, n
}

// End is where the last segment of an extent ends.
func (s *Set) End(ext int64) int64 {
	if l := s.Ext[ext]; len(l) > 0 {
		return l[len(l)-1].At + l[len(l)-1].N
	}
	return 0
}
