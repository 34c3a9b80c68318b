package blob

import (
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

// numrecsAt is the offset of the record count in a CDF-5 header, after the
// magic; it is 8 bytes long.
const (
	numrecsAt  = 4
	numrecsLen = 8
)

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
