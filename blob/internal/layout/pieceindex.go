package layout

import (
	"blobio/internal/base/crccat"
)

// PieceIndex finds the checksums of an extent's pieces in the list of a subfile.
type PieceIndex struct {
	Size  int64   // length of a piece in bytes
	first []int64 // by header variable: index of its first piece among the pieces of the fixed variables, or of a record
	count []int64 // by header variable: number of its pieces, or of its pieces in a record
	fixed int64   // number of pieces of all fixed variables
	rec   int64   // number of pieces of a record of all record variables
}

// NewPieceIndex returns the index for a subfile with pieces of size bytes.
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

// Total returns the number of checksums of pieces for this number of records, or -1 if there are too many for a manifest.
func (x *PieceIndex) Total(records int64) int64 {
	if x.fixed > crccat.MaxPieces || x.rec > 0 && records > crccat.MaxPieces/x.rec {
		return -1
	}
	return x.fixed + records*x.rec
}

// Of returns the checksums of one extent's pieces from the list of the subfile.
func (x *PieceIndex) Of(all []uint32, h *Header, v int, rec int64) []uint32 {
	at := x.first[v]
	if h.IsRecord(v) {
		at += x.fixed + rec*x.rec
	}
	return all[at : at+x.count[v]]
}

// NumPieces returns the number of checksums of pieces of an extent of n bytes.
func NumPieces(n, piece int64) int64 {
	if piece == 0 || n <= piece {
		return 0
	}
	return (n-1)/piece + 1
}
