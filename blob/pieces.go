package blob

import (
	"blobio/blob/internal/layout"
	"blobio/subfile"
)

// indexPieces finds the manifest's checksums of pieces, of a set of so many records.
func (p *filePart) indexPieces(records int64) error {
	if p.info == nil || p.un != nil || p.table == nil || len(p.info.Pieces) == 0 {
		return nil
	}
	x := p.place.Pieces(p.table, p.r.manifest.Piece)
	if n := x.Total(records); n != int64(len(p.info.Pieces)) {
		return formatErr(p.name, -1, "pieces", ErrCorrupt, "the manifest has %d checksums of pieces of %d bytes, want %d", len(p.info.Pieces), x.Size, n)
	}
	p.fine = x
	return nil
}

// limitPieces completes a manifest whose last set may have checksums of pieces of so many bytes.
func limitPieces(m *subfile.Manifest, size int64) {
	n := 0
	for i := range m.Sets {
		for k := range m.Sets[i].Subfiles {
			n += len(m.Sets[i].Subfiles[k].Pieces)
		}
	}
	if n > layout.MaxPieceSums {
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
