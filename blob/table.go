package blob

import "hash/crc32"

// loadTable reads what the file says of each of its blobs: number of requests,
// first element, number of elements; and for the process-centric layout where each blob lies.
// Every number is checked against the ones that it must agree with, and with the manifest's checksums. records are those of its set.
func (p *filePart) loadTable(records int64) error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if p.table, err = readTable(f, &p.place.where, p.name, nil); err != nil {
		return err
	}
	p.unpack()
	p.order = p.place.extentOrder()
	if err := p.indexPieces(records); err != nil || !p.proven() {
		return err
	}
	return p.proveTable()
}

// proveTable compares the checksums of all that readTable reads. The numbers are what the file's bytes say, so their bytes are those.
func (p *filePart) proveTable() error {
	t, order := p.table, orderOf(p.place.big)
	for d := range p.place.nd() {
		for m, col := range [][]int64{mapNreqs: t.nreqs, mapStart: t.start, mapCount: t.count} {
			size := int64(mapVarDefs[m].typ.Size())
			b := make([]byte, int64(len(t.id))*size)
			for j := range t.id {
				putInt(b[int64(j)*size:], order, size, col[j*p.place.nd()+d])
			}
			if err := (extent{p, d*mapVars + m, 0}).compareWhole(int64(len(b)), crc32.ChecksumIEEE(b)); err != nil {
				return err
			}
		}
	}
	return nil
}
