package layout

import (
	"encoding/binary"
	"fmt"
	"io"

	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// Variable is the variable-centric layout: a CDF-5 file, big endian, in which all blobs of a variable's record are contiguous.
type Variable struct{}

func (Variable) traits() Traits { return Traits{Grows: true} }

func (Variable) piece(p *Place, v int, rec int64, r *Ranks, i int) (off, n int64) {
	start, count := p.mine(v, r, i)
	size := p.Vars[v].Size
	off, _ = p.Header.At.Extent(p.Header.Maps*MapVars+v, rec)
	return off + start*size, count * size
}

func (Variable) mapPiece(p *Place, d, m int, r *Ranks, i int) (off, n int64) {
	off, _ = p.Header.At.Extent(d*MapVars+m, 0)
	switch m {
	case MapNreqs:
		n = 4
	case MapStart, MapCount:
		n = 8
	default:
		n = p.Shape.listSize(d, m) * AtLeast1(p.Shape.MaxReqs[d])
	}
	return off + n*int64(r.ID[i]), n
}

// listAt counts padded rows.
func (Variable) listAt(p *Place, d, m int, r *Ranks, i int) int64 {
	return p.Shape.listSize(d, m) * AtLeast1(p.Shape.MaxReqs[d]) * int64(r.ID[i])
}

func (Variable) rows() bool { return true }

func (Variable) whole(p *Place, v int, rec int64) (off int64, ok bool) {
	off, _ = p.Header.At.Extent(v, rec)
	return off, true
}

func (l Variable) extentBytes(p *Place, v int, _ *Ranks) int64 {
	return l.elems(p, v) * int64(p.Header.Vars[v].Type.Size())
}

func (Variable) elems(p *Place, v int) int64 { return p.Header.Elems(v) }

// pad returns the zeros up to the next multiple of 4. A file with only one record variable has no padding in its records.
func (l Variable) pad(p *Place, v int) int64 {
	if p.Header.oneRec && p.Header.IsRecord(v) {
		return 0
	}
	return -l.extentBytes(p, v, nil) & 3
}

// each visits record by record, and within a record variable by variable.
func (Variable) each(p *Place, records int64, visit func(v int, rec int64, j int) bool) {
	list, recs := p.Header.Kinds()
	for rec := int64(-1); rec < records; rec++ {
		for _, v := range list {
			for j := range p.Shape.Blobs {
				if !visit(v, rec, j) {
					return
				}
			}
		}
		list = recs
	}
}

func (Variable) bind(p *Place) {
	_, recs := p.Header.Kinds()
	p.Big, p.Header.At, p.Header.oneRec = true, p.Header.Places(), len(recs) == 1
}

func (Variable) appendHeader(h *cdf5.Header, b []byte) ([]byte, error) {
	return h.AppendTo(b, binary.BigEndian, false)
}

// readTable reads the columns of all maps.
func (Variable) readTable(pl *Place, f io.ReaderAt, name string, t *Ranks, _ Listed) error {
	nd, nb := pl.Header.Maps, pl.Shape.Blobs
	buf := make([]byte, 8*min(nb, 1<<16))
	for d := range nd {
		for m, col := range [][]int64{MapNreqs: t.Nreqs, MapStart: t.Start, MapCount: t.Count} {
			width := MapVarDefs[m].Type.Size()
			off, _ := pl.Header.At.Extent(d*MapVars+m, 0)
			for j := 0; j < nb; {
				b := buf[:width*min(nb-j, 1<<16)]
				if err := ReadFull(f, b, off+int64(j*width), name, fmt.Sprintf("D%d.%s[%d]", d+1, MapVarDefs[m].Name, j)); err != nil {
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

func (l Variable) tableAt(p *Place, d, m int, t *Ranks, j int) int64 {
	off, _ := l.mapPiece(p, d, m, t, j)
	return off
}

// settle does nothing, because the offset of a record does not depend on the number of records.
func (Variable) settle(*Place, *Ranks, int64) (*h5.Layout, error) { return nil, nil }

// holds ignores have, because during a commit only the manifest is right.
func (Variable) holds(p *Place, name string, have, want int64) error {
	if size := p.Header.At.RecSize(); have != want && size > 0 && want > (p.FileLen+3)/size {
		return fault.At(name, NumrecsAt, "numrecs", fault.ErrTruncated, "%d records of %d bytes, but the file ends at %d", want, size, p.FileLen)
	}
	return nil
}

func (Variable) recordBytes(p *Place) int64 { return p.Header.At.RecSize() }

func (Variable) fileSize(p *Place, records int64) int64 { return p.Header.FileSize(records) }

func (Variable) container(*Place, int64) (*h5.Layout, error) { return nil, nil }

func (Variable) blobs(*Place, []int64) []int64 { return nil }

func (Variable) shown(off int64) int64 { return off }

func (Variable) gap() int64 { return readGap }

func (Variable) backed(p *Place, off, n int64, name, field string) (bool, error) {
	return true, p.within(off, n, name, field)
}

func (Variable) roomForLists(*Place, *Ranks, int, string) error { return nil }

func (Variable) mayLack(*Place, int64) bool { return false }
