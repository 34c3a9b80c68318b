package layout

import (
	"encoding/binary"

	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// Process is the process-centric layout: a header, little endian, and a blob for each rank, in two datasets of an HDF5 file.
type Process struct{}

func (Process) traits() Traits { return Traits{ByRank: true} }

func (Process) piece(p *Place, v int, rec int64, r *Ranks, i int) (off, n int64) {
	_, count := p.mine(v, r, i)
	n = count * p.Vars[v].Size
	return r.Blob[i] + p.Blob.VarOff(v, r, i) + rec*n, n
}

func (Process) mapPiece(p *Place, d, m int, r *Ranks, i int) (off, n int64) {
	nd := p.Header.Maps
	off = r.Blob[i]
	for e, n := range r.Nreqs[i*nd : i*nd+d] {
		off += 20 + (4+p.Shape.OffsetSize(e))*n
	}
	switch m {
	case MapNreqs:
		return off, 4
	case MapStart:
		return off + 4, 8
	case MapCount:
		return off + 12, 8
	}
	q := r.Nreqs[i*nd+d]
	if off += 20; m == MapLengths {
		off += p.Shape.OffsetSize(d) * q
	}
	return off, p.Shape.listSize(d, m) * q
}

func (Process) listAt(p *Place, d, m int, r *Ranks, i int) int64 {
	return p.Shape.listSize(d, m) * r.Reqs[i*p.Header.Maps+d]
}

func (Process) rows() bool { return false }

func (Process) whole(*Place, int, int64) (off int64, ok bool) { return 0, false }

func (l Process) extentBytes(p *Place, v int, t *Ranks) int64 {
	if d, m := v/MapVars, v%MapVars; d < p.Header.Maps && m >= MapOffsets {
		k := (len(t.ID)-1)*p.Header.Maps + d // lengths of the lists of all blobs, without padding
		if k < 0 {
			return 0
		}
		return p.Shape.listSize(d, m) * (t.Reqs[k] + t.Nreqs[k])
	}
	return l.elems(p, v) * int64(p.Header.Vars[v].Type.Size())
}

// elems does not count the element of an empty map, because the file does not have it.
func (Process) elems(p *Place, v int) int64 {
	if i := v - p.Header.Maps*MapVars; i >= 0 && p.Vars[i].Decomp != 0 {
		return p.Shape.Elems[p.Vars[i].Decomp-1]
	}
	return p.Header.Elems(v)
}

func (Process) pad(*Place, int) int64 { return 0 }

// each visits blob by blob, and within a blob variable by variable.
func (Process) each(p *Place, records int64, visit func(v int, rec int64, j int) bool) {
	for j := range p.Shape.Blobs {
		for v := range p.Header.Vars {
			if !p.Header.IsRecord(v) {
				if !visit(v, -1, j) {
					return
				}
				continue
			}
			for rec := range records {
				if !visit(v, rec, j) {
					return
				}
			}
		}
	}
}

func (Process) bind(*Place) {}

func (Process) appendHeader(h *cdf5.Header, b []byte) ([]byte, error) {
	return h.AppendTo(b, binary.LittleEndian, true)
}

func (l Process) tableAt(p *Place, d, m int, t *Ranks, j int) int64 {
	off, _ := l.mapPiece(p, d, m, t, j)
	return off
}

func (Process) holds(p *Place, name string, have, want int64) error {
	if have != want {
		return fault.At(name, p.Header.Off+NumrecsAt, "numrecs", fault.ErrCorrupt, "%d, want %d", have, want)
	}
	return nil
}

func (l Process) recordBytes(p *Place) (size int64) {
	for i := range p.Vars {
		v := &p.Vars[i]
		if v.Record && (v.Decomp == 0 || p.Shape.Elems[v.Decomp-1] > 1) { // a length of 1 may mean that there is no element
			size += min(l.extentBytes(p, p.Header.Maps*MapVars+i, nil), p.FileLen+1)
		}
	}
	return size
}

func (Process) fileSize(p *Place, _ int64) int64 { return p.DataOff + p.DataLen }

// container lays out the HDF5 file around data_blob.
func (Process) container(p *Place, dataLen int64) (*h5.Layout, error) {
	// An empty dataset cannot be distinguished from a dataset that was never written, and libhdf5 gives it no address. Only a
	// schema without maps and data has an empty dataset, because a blob has at least 20 bytes per map.
	b := h5.NewBuilder()
	hd := b.Dataset(HeaderBlob, h5.Uint8, []int64{p.Header.Len}, nil)
	dd := b.Dataset(DataBlob, h5.Uint8, []int64{dataLen}, &h5.DatasetOptions{Align: dataAlign})
	l, err := b.Layout()
	if err == nil {
		p.Header.Off, p.DataOff, p.DataLen = hd.Offset(), dd.Offset(), dataLen
	}
	return l, err
}

func (Process) settle(p *Place, all *Ranks, records int64) (*h5.Layout, error) {
	p.Blob = NewBlob(p.Vars, p.Shape, records)
	total := int64(0)
	for i := range all.ID {
		all.Blob[i] = total
		total += p.Blob.Size(all, i)
	}
	meta, err := p.Container(total) // the method of Compressed, if the file is compressed
	for i := range all.Blob {
		all.Blob[i] += p.DataOff
	}
	return meta, err
}

func (Process) blobs(p *Place, at []int64) []int64 {
	return append(append([]int64(nil), at...), p.DataOff+p.DataLen)
}

func (Process) shown(off int64) int64 { return off }

func (Process) gap() int64 { return readGap }

func (Process) backed(p *Place, off, n int64, name, field string) (bool, error) {
	return true, p.within(off, n, name, field)
}

func (Process) roomForLists(*Place, *Ranks, int, string) error { return nil }

func (Process) mayLack(*Place, int64) bool { return false }
