package read

import (
	"hash/crc32"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
)

// loadTable reads what the file says of each of its blobs: number of requests,
// first element, number of elements; and for the process-centric layout where each blob lies.
// Every number is checked against the ones that it must agree with, and with the manifest's checksums. records are those of its set.
func (p *FilePart) loadTable(records int64) error {
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	listed := layout.Listed{Workers: p.Files.Opt.Workers}
	if p.Info != nil {
		listed.Blobs = p.Info.Blobs
	}
	if p.Table, err = layout.ReadTable(f, &p.Place.Place, p.Name, listed, nil); err != nil {
		return err
	}
	p.Unpack()
	p.Order = p.Place.ExtentOrder()
	if err := p.IndexPieces(records); err != nil || !p.proven() {
		return err
	}
	return p.proveTable()
}

// proveTable compares the checksums of all that readTable reads. The numbers are what the file's bytes say, so their bytes are those.
func (p *FilePart) proveTable() error {
	t, order := p.Table, dataset.OrderOf(p.Place.Big)
	for d := range p.Place.NumMaps() {
		for m, col := range [][]int64{layout.MapNreqs: t.Nreqs, layout.MapStart: t.Start, layout.MapCount: t.Count} {
			size := int64(layout.MapVarDefs[m].Type.Size())
			b := make([]byte, int64(len(t.ID))*size)
			for j := range t.ID {
				dataset.PutInt(b[int64(j)*size:], order, size, col[j*p.Place.NumMaps()+d])
			}
			if err := (VarExtent{p, d*layout.MapVars + m, 0}).compareWhole(int64(len(b)), crc32.ChecksumIEEE(b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// IndexPieces finds the manifest's checksums of pieces, of a set of so many records.
func (p *FilePart) IndexPieces(records int64) error {
	if p.Info == nil || p.Un != nil || p.Table == nil || len(p.Info.Pieces) == 0 {
		return nil
	}
	x := p.Place.Pieces(p.Table, p.Files.Manifest.Piece)
	if n := x.Total(records); n != int64(len(p.Info.Pieces)) {
		return fault.At(p.Name, -1, "pieces", dataset.ErrCorrupt, "the manifest has %d checksums of pieces of %d bytes, want %d", len(p.Info.Pieces), x.Size, n)
	}
	p.Fine = x
	return nil
}
