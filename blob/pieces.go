package blob

import (
	"blobio/cdf5"
	"blobio/subfile"
)

// pieceIndex tells which of a subfile's checksums of pieces are those of an extent.
type pieceIndex struct {
	size  int64   // of a piece in bytes
	first []int64 // by header variable: the first of its own, among those of its kind (of a record)
	count []int64 // how many it has (in a record)
	fixed int64   // of all fixed variables
	rec   int64   // of all record variables, in a record
}

// pieces returns the index for pieces of so many bytes.
func (p *place) pieces(t *ranks, size int64) *pieceIndex {
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

// indexPieces finds the manifest's checksums of pieces, of a set of so many records.
func (p *filePart) indexPieces(records int64) error {
	if p.info == nil || p.un != nil || p.table == nil || len(p.info.Pieces) == 0 {
		return nil
	}
	x := p.place.pieces(p.table, p.r.manifest.Piece)
	if n := x.total(records); n != int64(len(p.info.Pieces)) {
		return formatErr(p.name, -1, "pieces", ErrCorrupt, "the manifest has %d checksums of pieces of %d bytes, want %d", len(p.info.Pieces), x.size, n)
	}
	p.fine = x
	return nil
}

// maxPieceSums is the most checksums of pieces of a dataset: 256 MiB of its manifest. What is larger has those of extents only.
const maxPieceSums = 1 << 25

// limitPieces completes a manifest whose last set may have checksums of pieces of so many bytes.
func limitPieces(m *subfile.Manifest, size int64) {
	n := 0
	for i := range m.Sets {
		for k := range m.Sets[i].Subfiles {
			n += len(m.Sets[i].Subfiles[k].Pieces)
		}
	}
	if n > maxPieceSums {
		subs := m.Sets[len(m.Sets)-1].Subfiles
		for k := range subs {
			n -= len(subs[k].Pieces)
			subs[k].Pieces = nil
		}
	}
	if n > 0 {
		m.Piece = size
	}
}
