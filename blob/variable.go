package blob

import (
	"encoding/binary"
	"fmt"
	"io"

	"blobio/cdf5"
	"blobio/h5"
)

// variable is the variable-centric layout: a CDF-5 file, big endian, in which all blobs of a variable's record lie together.
type variable struct{}

func (variable) traits() traits { return traits{grows: true} }

func (variable) piece(p *where, v int, rec int64, r *ranks, i int) (off, n int64) {
	start, count := p.mine(v, r, i)
	size := p.vars[v].size
	off, _ = p.at.Extent(p.maps*mapVars+v, rec)
	return off + start*size, count * size
}

func (variable) mapPiece(p *where, d, m int, r *ranks, i int) (off, n int64) {
	off, _ = p.at.Extent(d*mapVars+m, 0)
	switch m {
	case mapNreqs:
		n = 4
	case mapStart, mapCount:
		n = 8
	default:
		n = p.listSize(d, m) * atLeast1(p.shape.maxReqs[d])
	}
	return off + n*int64(r.id[i]), n
}

// listAt counts padded rows.
func (variable) listAt(p *where, d, m int, r *ranks, i int) int64 {
	return p.listSize(d, m) * atLeast1(p.shape.maxReqs[d]) * int64(r.id[i])
}

func (variable) rows() bool { return true }

func (variable) whole(p *where, v int, rec int64) (off int64, ok bool) {
	off, _ = p.at.Extent(v, rec)
	return off, true
}

func (l variable) extentBytes(p *where, v int, _ *ranks) int64 {
	return l.elems(p, v) * int64(p.hdr.Vars[v].Type.Size())
}

func (variable) elems(p *where, v int) int64 { return p.hdr.Elems(v) }

// pad ends at the next multiple of 4. A lone record variable has none.
func (l variable) pad(p *where, v int) int64 {
	if p.lone && p.hdr.IsRecord(v) {
		return 0
	}
	return -l.extentBytes(p, v, nil) & 3
}

// each goes by record, and in it by variable.
func (variable) each(p *where, records int64, visit func(v int, rec int64, j int) bool) {
	list, recs := p.kinds()
	for rec := int64(-1); rec < records; rec++ {
		for _, v := range list {
			for j := range p.shape.nblobs {
				if !visit(v, rec, j) {
					return
				}
			}
		}
		list = recs
	}
}

func (variable) bind(p *where) {
	_, recs := p.kinds()
	p.big, p.at, p.lone = true, p.hdr.Places(), len(recs) == 1
}

func (variable) appendHeader(h *cdf5.Header, b []byte) ([]byte, error) {
	return h.AppendTo(b, binary.BigEndian, false)
}

// readTable reads the columns of all maps.
func (variable) readTable(pl *where, f io.ReaderAt, name string, t *ranks) error {
	nd, nb := pl.nd(), pl.shape.nblobs
	buf := make([]byte, 8*min(nb, 1<<16))
	for d := range nd {
		for m, col := range [][]int64{mapNreqs: t.nreqs, mapStart: t.start, mapCount: t.count} {
			width := mapVarDefs[m].typ.Size()
			off, _ := pl.at.Extent(d*mapVars+m, 0)
			for j := 0; j < nb; {
				b := buf[:width*min(nb-j, 1<<16)]
				if err := readFull(f, b, off+int64(j*width), name, fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j)); err != nil {
					return err
				}
				for ; len(b) > 0; b, j = b[width:], j+1 {
					if width == 4 {
						col[j*nd+d] = int64(int32(binary.BigEndian.Uint32(b)))
					} else {
						col[j*nd+d] = int64(binary.BigEndian.Uint64(b))
					}
				}
			}
		}
	}
	return nil
}

func (l variable) tableAt(p *where, d, m int, t *ranks, j int) int64 {
	off, _ := l.mapPiece(p, d, m, t, j)
	return off
}

// settle changes nothing: where a record lies does not depend on how many there are.
func (variable) settle(*where, *ranks, int64) (*h5.Layout, error) { return nil, nil }

// holds lets the header's number differ: while a commit is under way the manifest is right.
func (variable) holds(p *where, name string, have, want int64) error {
	if size := p.at.RecSize(); have != want && size > 0 && want > (p.fileLen+3)/size {
		return formatErr(name, numrecsAt, "numrecs", ErrTruncated, "%d records of %d bytes, but the file ends at %d", want, size, p.fileLen)
	}
	return nil
}

func (variable) recordBytes(p *where) int64 { return p.at.RecSize() }

func (variable) fileSize(p *where, records int64) int64 { return p.hdr.FileSize(records) }

func (variable) container(*where, int64) (*h5.Layout, error) { return nil, nil }

func (variable) blobs(*where, []int64) []int64 { return nil }

func (variable) shown(off int64) int64 { return off }

func (variable) gap() int64 { return readGap }

func (variable) backed(p *where, off, n int64, name, field string) (bool, error) {
	return true, p.within(off, n, name, field)
}

func (variable) roomForLists(*where, *ranks, int, string) error { return nil }

func (variable) mayLack(*where, int64) bool { return false }
