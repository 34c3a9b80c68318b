package layout

import (
	"blobio/internal/base/crccat"
)

// PieceIndex finds the checksums of an extent's pieces among all that a subfile has.
type PieceIndex struct {
	Size  int64   // of a piece in bytes
	first []int64 // by header variable: the first of its own, among all of its kind (of a record)
	count []int64 // how many it has (in a record)
	fixed int64   // of all fixed variables
	rec   int64   // of all record variables, in a record
}

// NewPieceIndex is of a subfile with pieces of size bytes.
func NewPieceIndex(p *Place, t *Ranks, size int64) *PieceIndex {
	x := &PieceIndex{Size: size, first: make([]int64, len(p.Header.Vars)), count: make([]int64, len(p.Header.Vars))}
	for v := range p.Header.Vars {
		sum := &x.fixed
		if p.Header.IsRecord(v) {
			sum = &x.rec
		}
		x.first[v], x.count[v] = *sum, NumPieces(p.ExtentBytes(v, t), size)
		*sum = min(*sum+x.count[v], crccat.MaxPieces+1)
	}
	return x
}

// Total is how many checksums of pieces a subfile of that many records has, -1 if more than any manifest has.
func (x *PieceIndex) Total(records int64) int64 {
	if x.fixed > crccat.MaxPieces || x.rec > 0 && records > crccat.MaxPieces/x.rec {
		return -1
	}
	return x.fixed + records*x.rec
}

// Of returns the checksums of one extent's pieces out of the subfile's.
func (x *PieceIndex) Of(all []uint32, h *Header, v int, rec int64) []uint32 {
	at := x.first[v]
	if h.IsRecord(v) {
		at += x.fixed + rec*x.rec
	}
	return all[at : at+x.count[v]]
}

// NumPieces is how many checksums of pieces an extent of n bytes has.
func NumPieces(n, piece int64) int64 {
	if piece == 0 || n <= piece {
		return 0
	}
	return (n-1)/piece + 1
}
