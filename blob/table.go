package blob

import (
	"hash/crc32"

	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
)

// loadTable reads what the file says of each of its blobs: number of requests,
// first element, number of elements; and for the process-centric layout where each blob lies.
// Every number is checked against the ones that it must agree with, and with the manifest's checksums. records are those of its set.
func (p *filePart) loadTable(records int64) error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	listed := layout.Listed{Workers: p.r.opt.Workers}
	if p.info != nil {
		listed.Blobs = p.info.Blobs
	}
	if p.table, err = layout.ReadTable(f, &p.place.Place, p.name, listed, nil); err != nil {
		return err
	}
	p.unpack()
	p.order = p.place.ExtentOrder()
	if err := p.indexPieces(records); err != nil || !p.proven() {
		return err
	}
	return p.proveTable()
}

// proveTable compares the checksums of all that readTable reads. The numbers are what the file's bytes say, so their bytes are those.
func (p *filePart) proveTable() error {
	t, order := p.table, orderOf(p.place.Big)
	for d := range p.place.NumMaps() {
		for m, col := range [][]int64{layout.MapNreqs: t.Nreqs, layout.MapStart: t.Start, layout.MapCount: t.Count} {
			size := int64(layout.MapVarDefs[m].Type.Size())
			b := make([]byte, int64(len(t.ID))*size)
			for j := range t.ID {
				putInt(b[int64(j)*size:], order, size, col[j*p.place.NumMaps()+d])
			}
			if err := (extent{p, d*layout.MapVars + m, 0}).compareWhole(int64(len(b)), crc32.ChecksumIEEE(b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexPieces finds the manifest's checksums of pieces, of a set of so many records.
func (p *filePart) indexPieces(records int64) error {
	if p.info == nil || p.un != nil || p.table == nil || len(p.info.Pieces) == 0 {
		return nil
	}
	x := p.place.Pieces(p.table, p.r.manifest.Piece)
	if n := x.Total(records); n != int64(len(p.info.Pieces)) {
		return fault.At(p.name, -1, "pieces", ErrCorrupt, "the manifest has %d checksums of pieces of %d bytes, want %d", len(p.info.Pieces), x.Size, n)
	}
	p.fine = x
	return nil
}
