// Package checksum collects the checksums of pieces while they are written or read in any order, and joins them to the
// checksums of the extents of a subfile.
package checksum

import (
	"hash/crc32"
	"slices"
	"sort"
	"sync"

	"blobio/internal/base/crccat"
)

// DefaultPiece is the length in bytes of the pieces of an extent. Each piece has a checksum of 8 digits in the manifest.
const DefaultPiece = 1 << 20

// Seg is the checksum of bytes [At, At+N) of an extent.
type Seg struct {
	At, N int64
	CRC   uint32
}

// Set holds the checksums of the extents of one subfile while several workers write them piece by piece, in any order. Adjacent
// segments of one piece are joined, but segments of different pieces are not. A complete extent therefore has one segment per
// piece.
type Set struct {
	Piece int64 // length of a piece in bytes; 0: each extent is one piece
	Keep  bool  // of overlapping segments, the first counts; if false, Redo marks the extent
	Mu    sync.Mutex
	Ext   map[int64][]Seg // by extent, sorted by At
	Redo  map[int64]bool  // extents that were written twice; their checksums must be computed from the file
	join  crccat.Joiner
}

// New returns an empty Set. piece is the length of a piece in bytes; 0 makes each extent one piece.
func New(piece int64) *Set {
	return &Set{Piece: piece, Ext: map[int64][]Seg{}, Redo: map[int64]bool{}}
}

// Within returns how many of n bytes from at on are in the same piece as at.
func (s *Set) Within(at, n int64) int64 {
	if s.Piece == 0 {
		return n
	}
	return min(n, s.Piece-at%s.Piece)
}

// Border reports whether a piece begins at at.
func (s *Set) Border(at int64) bool { return s.Piece != 0 && at%s.Piece == 0 }

// Sum adds the checksums of bytes that begin at offset at of an extent.
func (s *Set) Sum(ext, at int64, b []byte) {
	for len(b) > 0 {
		n := s.Within(at, int64(len(b)))
		s.Add(ext, Seg{at, n, crc32.ChecksumIEEE(b[:n])})
		at, b = at+n, b[n:]
	}
}

// Add adds one segment inside a piece. If it overlaps an earlier segment, the extent is marked in Redo.
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

// Again marks an extent that will be written a second time.
func (s *Set) Again(ext int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Redo[ext] = true
	delete(s.Ext, ext)
}

// Forget drops all segments of an extent.
func (s *Set) Forget(ext int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	delete(s.Redo, ext)
	delete(s.Ext, ext)
}

// Whole returns the checksum of an extent of n bytes, and the checksums of its pieces if it is longer than a piece. ok reports
// whether the extent is complete.
func (s *Set) Whole(ext, n int64) (crc uint32, pieces []uint32, ok bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if n == 0 {
		return 0, nil, !s.Redo[ext]
	}
	crc, pieces, end := s.Joined(ext)
	return crc, pieces, end == n
}

// Joined is Whole for an extent that ends where its last segment ends. n is 0 if the segments leave gaps. The caller holds Mu.
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

// End returns the end of the last segment of an extent.
func (s *Set) End(ext int64) int64 {
	if l := s.Ext[ext]; len(l) > 0 {
		return l[len(l)-1].At + l[len(l)-1].N
	}
	return 0
}
