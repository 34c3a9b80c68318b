package blob

import "blobio/cdf5"

// maxPieceSums is the most checksums of pieces of a dataset: 256 MiB of its manifest. What is larger has those of extents only.
const maxPieceSums = 1 << 25

// pieceIndex tells which of a subfile's checksums of pieces are those of an extent.
type pieceIndex struct {
	size  int64   // of a piece in bytes
	first []int64 // by header variable: the first of its own, among those of its kind (of a record)
	count []int64 // how many it has (in a record)
	fixed int64   // of all fixed variables
	rec   int64   // of all record variables, in a record
}

// pieces returns the index for pieces of so many bytes.
func (p *where) pieces(t *ranks, size int64) *pieceIndex {
	x := &pieceIndex{size: size, first: make([]int64, len(p.hdr.Vars)), count: make([]int64, len(p.hdr.Vars))}
	for v := range p.hdr.Vars {
		sum := &x.fixed
		if p.hdr.IsRecord(v) {
			sum = &x.rec
		}
		x.first[v], x.count[v] = *sum, numPieces(p.extentBytes(v, t), size)
		*sum = min(*sum+x.count[v], maxPieceSums+1)
	}
	return x
}

// total is how many checksums of pieces a subfile of so many records has, -1 if more than any manifest.
func (x *pieceIndex) total(records int64) int64 {
	if x.fixed > maxPieceSums || x.rec > 0 && records > maxPieceSums/x.rec {
		return -1
	}
	return x.fixed + records*x.rec
}

// of returns the checksums of one extent's pieces from those of the subfile.
func (x *pieceIndex) of(all []uint32, h *cdf5.Header, v int, rec int64) []uint32 {
	at := x.first[v]
	if h.IsRecord(v) {
		at += x.fixed + rec*x.rec
	}
	return all[at : at+x.count[v]]
}

// numPieces is how many checksums of pieces an extent of n bytes has.
func numPieces(n, piece int64) int64 {
	if piece == 0 || n <= piece {
		return 0
	}
	return (n-1)/piece + 1
}
