package blob

import (
	"encoding/binary"

	"blobio/h5"
	"blobio/internal/vfs"
)

// Names of the two datasets of a process-centric subfile.
const (
	headerBlob = "header_blob"
	dataBlob   = "data_blob"
)

// dataAlign is where data_blob begins: at a page, so that direct I/O is possible.
const dataAlign = 4096

// indexAlign is where the index of a compressed subfile begins.
const indexAlign = 8

// container lays out the HDF5 file around data_blob. It returns the metadata
// and sets where header and data lie.
func (p *place) container(dataLen int64) (*h5.Layout, error) {
	b := h5.NewBuilder()
	g := b.Root()
	if pk := p.packed; pk != nil {
		// While it is not known how much there is, the offsets of header and data are: they come first.
		hd := g.Dataset(headerPacked, h5.Uint8, []int64{p.hdrLen}, nil)
		dd := g.Dataset(dataPacked, h5.Uint8, []int64{max(pk.stored, 1)}, &h5.DatasetOptions{Align: dataAlign})
		xd := g.Dataset(indexPacked, h5.Uint8, []int64{max(pk.idxLen, 1)}, &h5.DatasetOptions{Align: indexAlign})
		l, err := b.Layout()
		if err != nil {
			return nil, err
		}
		p.hdrOff, p.dataOff, p.dataLen, pk.idxOff = hd.Offset(), dd.Offset(), dataLen, xd.Offset()
		return l, nil
	}
	// An empty dataset cannot be told from one that was never written, and
	// libhdf5 gives it no address; blobs are never empty in fact (20 bytes per map),
	// but a schema without maps and data is.
	hd := g.Dataset(headerBlob, h5.Uint8, []int64{p.hdrLen}, nil)
	dd := g.Dataset(dataBlob, h5.Uint8, []int64{dataLen}, &h5.DatasetOptions{Align: dataAlign})
	l, err := b.Layout()
	if err != nil {
		return nil, err
	}
	p.hdrOff, p.dataOff, p.dataLen = hd.Offset(), dd.Offset(), dataLen
	return l, nil
}

// headerBytes returns the header as it is in the file, with its record count.
func (p *place) headerBytes(records int64) ([]byte, error) {
	h := *p.hdr
	h.NumRecs = records
	b := make([]byte, 0, h.EncodedLen())
	if p.layout == ProcessCentric {
		return h.AppendTo(b, binary.LittleEndian, true)
	}
	return h.AppendTo(b, binary.BigEndian, false)
}

// numrecsAt is the offset of the record count in a CDF-5 header, after the
// magic; it is 8 bytes long.
const (
	numrecsAt  = 4
	numrecsLen = 8
)

// fileSize is what the finished subfile measures.
func (p *place) fileSize(records int64) int64 {
	if p.packed != nil {
		return p.packed.idxOff + p.packed.idxLen
	}
	if p.layout == ProcessCentric {
		return p.dataOff + p.dataLen
	}
	return p.hdr.FileSize(records)
}

// lastPiece returns the file offset of the last variable (of the last record)
// of a CDF file, and where its data end. A canonical file that is written
// without fill mode, as PnetCDF does by default, ends behind the last element that somebody
// wrote: what lacks of its last piece was never written, and is zero like every other hole in the file.
func (p *place) lastPiece(records int64) (off, end int64) {
	for v := range p.hdr.Vars {
		rec := int64(0)
		if p.hdr.IsRecord(v) {
			if records == 0 {
				continue
			}
			rec = records - 1
		}
		if o, n := p.at.Extent(v, rec); o >= off {
			off, end = o, o+n
		}
	}
	return off, end
}

// writeContainer writes everything but the ranks' data: the header, and
// the HDF5 metadata. The file gets its exact size.
func (e *engine) writeContainer(f vfs.File, meta *h5.Layout, records int64) error {
	hb, err := e.place.headerBytes(records)
	if err != nil {
		return err
	}
	if meta != nil {
		for _, p := range meta.Pieces {
			if _, err := f.WriteAt(p.Data, p.Off); err != nil {
				return err
			}
		}
	}
	if err := f.Truncate(e.place.fileSize(records)); err != nil {
		return err
	}
	_, err = f.WriteAt(hb, e.place.hdrOff)
	return err
}
