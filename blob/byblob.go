package blob

import (
	"encoding/binary"
	"fmt"
	"io"

	"blobio/cdf5"
	"blobio/h5"
)

// byBlob is the process-centric layout: a header, little endian, and a blob of each rank, in two datasets of an HDF5 file.
type byBlob struct{}

func (byBlob) traits() traits { return traits{byRank: true} }

func (byBlob) piece(p *where, v int, rec int64, r *ranks, i int) (off, n int64) {
	_, count := p.mine(v, r, i)
	n = count * p.vars[v].size
	return r.blob[i] + p.varOff(v, r, i) + rec*n, n
}

func (byBlob) mapPiece(p *where, d, m int, r *ranks, i int) (off, n int64) {
	nd := p.nd()
	off = r.blob[i]
	for e, n := range r.nreqs[i*nd : i*nd+d] {
		off += 20 + (4+p.offsetSize(e))*n
	}
	switch m {
	case mapNreqs:
		return off, 4
	case mapStart:
		return off + 4, 8
	case mapCount:
		return off + 12, 8
	}
	q := r.nreqs[i*nd+d]
	if off += 20; m == mapLengths {
		off += p.offsetSize(d) * q
	}
	return off, p.listSize(d, m) * q
}

func (byBlob) listAt(p *where, d, m int, r *ranks, i int) int64 {
	return p.listSize(d, m) * r.reqs[i*p.nd()+d]
}

func (byBlob) rows() bool { return false }

func (byBlob) whole(*where, int, int64) (off int64, ok bool) { return 0, false }

func (l byBlob) extentBytes(p *where, v int, t *ranks) int64 {
	if d, m := v/mapVars, v%mapVars; d < p.nd() && m >= mapOffsets {
		k := (len(t.id)-1)*p.nd() + d // the lists of all blobs, without padding
		if k < 0 {
			return 0
		}
		return p.listSize(d, m) * (t.reqs[k] + t.nreqs[k])
	}
	return l.elems(p, v) * int64(p.hdr.Vars[v].Type.Size())
}

// elems leaves out the element of an empty map, which is not there.
func (byBlob) elems(p *where, v int) int64 {
	if i := v - p.nd()*mapVars; i >= 0 && p.vars[i].decomp != 0 {
		return p.shape.nelems[p.vars[i].decomp-1]
	}
	return p.hdr.Elems(v)
}

func (byBlob) pad(*where, int) int64 { return 0 }

// each goes by blob, and in it by variable.
func (byBlob) each(p *where, records int64, visit func(v int, rec int64, j int) bool) {
	for j := range p.shape.nblobs {
		for v := range p.hdr.Vars {
			if !p.hdr.IsRecord(v) {
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

func (byBlob) bind(*where) {}

func (byBlob) appendHeader(h *cdf5.Header, b []byte) ([]byte, error) {
	return h.AppendTo(b, binary.LittleEndian, true)
}

// readTable finds the blobs one after the other:
// the place of each follows only from the sizes of those before.
func (byBlob) readTable(pl *where, f io.ReaderAt, name string, t *ranks) error {
	order := orderOf(pl.big)
	nd, nb := pl.nd(), pl.shape.nblobs
	off, end := pl.dataOff, pl.dataOff+pl.dataLen
	var b [20]byte
	for j := range nb {
		t.blob[j] = off
		for d := range nd {
			field := func(m int) string { return fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j) }
			at, _ := pl.mapPiece(d, mapNreqs, t, j)
			if at > end-20 {
				return formatErr(name, at, field(mapNreqs), ErrTruncated, "the map variables go beyond the end of %s at %#x", dataBlob, end)
			}
			if err := readFull(f, b[:], at, name, field(mapNreqs)); err != nil {
				return err
			}
			k := j*nd + d
			t.nreqs[k] = int64(int32(order.Uint32(b[:])))
			t.start[k] = int64(order.Uint64(b[4:]))
			t.count[k] = int64(order.Uint64(b[12:]))
			// The next place depends on these, so a wrong one ends the walk.
			if n := t.nreqs[k]; n < 0 || n > pl.shape.maxReqs[d] {
				return formatErr(name, at, field(mapNreqs), ErrCorrupt, "%d, want 0..%d (D%d.max_nreqs)", n, pl.shape.maxReqs[d], d+1)
			}
			if n := t.count[k]; n < 0 || n > pl.shape.nelems[d] {
				return formatErr(name, at+12, field(mapCount), ErrCorrupt, "%d, want 0..%d (D%d.nelems)", n, pl.shape.nelems[d], d+1)
			}
		}
		size := pl.blobSize(t, j)
		if size > end-off {
			return formatErr(name, off, fmt.Sprintf("%s of blob %d", dataBlob, j), ErrTruncated, "%d bytes by its own map variables, but %s ends at %#x", size, dataBlob, end)
		}
		off += size
	}
	if off != end {
		return formatErr(name, off, dataBlob, ErrCorrupt, "%d bytes behind the last of %d blobs", end-off, nb)
	}
	return nil
}

func (l byBlob) tableAt(p *where, d, m int, t *ranks, j int) int64 {
	off, _ := l.mapPiece(p, d, m, t, j)
	return off
}

// setRecords fixes how many records a blob has, and with it the place of every variable in it.
func (p *where) setRecords(n int64) {
	p.records = n
	nd := p.nd()
	p.before = make([]int64, (len(p.vars)+1)*(nd+1))
	for i := range p.vars {
		v := &p.vars[i]
		row, next := p.before[i*(nd+1):(i+1)*(nd+1)], p.before[(i+1)*(nd+1):(i+2)*(nd+1)]
		copy(next, row)
		size := v.size
		if v.record {
			size *= p.records
		}
		if v.decomp != 0 {
			next[v.decomp-1] += size
		} else {
			next[nd] += size * v.elems
		}
	}
}

func (byBlob) holds(p *where, name string, have, want int64) error {
	if have != want {
		return formatErr(name, p.hdrOff+numrecsAt, "numrecs", ErrCorrupt, "%d, want %d", have, want)
	}
	return nil
}

func (l byBlob) recordBytes(p *where) (size int64) {
	for i := range p.vars {
		v := &p.vars[i]
		if v.record && (v.decomp == 0 || p.shape.nelems[v.decomp-1] > 1) { // 1 may stand for none
			size += min(l.extentBytes(p, p.nd()*mapVars+i, nil), p.fileLen+1)
		}
	}
	return size
}

func (byBlob) fileSize(p *where, _ int64) int64 { return p.dataOff + p.dataLen }

// container lays out the HDF5 file around data_blob.
func (byBlob) container(p *where, dataLen int64) (*h5.Layout, error) {
	// An empty dataset cannot be told from one that was never written, and
	// libhdf5 gives it no address; blobs are never empty in fact (20 bytes per map),
	// but a schema without maps and data is.
	b := h5.NewBuilder()
	hd := b.Root().Dataset(headerBlob, h5.Uint8, []int64{p.hdrLen}, nil)
	dd := b.Root().Dataset(dataBlob, h5.Uint8, []int64{dataLen}, &h5.DatasetOptions{Align: dataAlign})
	l, err := b.Layout()
	if err == nil {
		p.hdrOff, p.dataOff, p.dataLen = hd.Offset(), dd.Offset(), dataLen
	}
	return l, err
}

func (byBlob) settle(p *where, all *ranks, records int64) (*h5.Layout, error) {
	p.setRecords(records)
	total := int64(0)
	for i := range all.id {
		all.blob[i] = total
		total += p.blobSize(all, i)
	}
	meta, err := p.container(total) // of compressed files another one
	for i := range all.blob {
		all.blob[i] += p.dataOff
	}
	return meta, err
}

func (byBlob) blobs(p *where, at []int64) []int64 {
	return append(append([]int64(nil), at...), p.dataOff+p.dataLen)
}

func (byBlob) shown(off int64) int64 { return off }

func (byBlob) gap() int64 { return readGap }

func (byBlob) backed(p *where, off, n int64, name, field string) (bool, error) {
	return true, p.within(off, n, name, field)
}

func (byBlob) roomForLists(*where, *ranks, int, string) error { return nil }

func (byBlob) mayLack(*where, int64) bool { return false }

// mapBytes is the size of all map variables in the blob of entry i.
func (p *where) mapBytes(r *ranks, i int) int64 {
	n := int64(0)
	for d, q := range r.nreqs[i*p.nd() : (i+1)*p.nd()] {
		n += 20 + (4+p.offsetSize(d))*q
	}
	return n
}

// varOff is the offset of variable v in the blob of entry i; v may be one past the last.
func (p *where) varOff(v int, r *ranks, i int) int64 {
	nd := p.nd()
	row := p.before[v*(nd+1) : (v+1)*(nd+1)]
	n := p.mapBytes(r, i)
	for d, c := range r.count[i*nd : (i+1)*nd] {
		n += row[d] * c
	}
	if r.id[i] == 0 {
		n += row[nd]
	}
	return n
}

// blobSize is the length of the blob of entry i, in bytes.
func (p *where) blobSize(r *ranks, i int) int64 { return p.varOff(len(p.vars), r, i) }
