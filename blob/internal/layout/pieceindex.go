package layout

import (
	"blobio/internal/base/crccat"
)

// PieceIndex finds the checksums of an extent's pieces in the list of a subfile.
type PieceIndex struct {
	Size  int64   // of a piece in bytes
	first []int64 // by header variable: its first piece among the pieces of its kind (in a record)
	count []int64 // number of its pieces (in a record)
	fixed int64   // pieces of all fixed variables
	rec   int64   // pieces of all record variables, in a record
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

// Total returns the number of checksums of pieces of a subfile with that many records, -1 if no manifest can have so much.
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
