package blob

import (
	"io"
	"sort"
)

// extent is what a subfile holds of one variable (of one record): what has a checksum in the manifest.
type extent struct {
	p   *filePart
	v   int   // variable of the header
	rec int64 // of the set
}

func (e extent) bytes() int64 { return e.p.place.extentBytes(e.v, e.p.table) }

// field names it, with the record of the dataset.
func (e extent) field() string { return fieldOf(e.p.place, e.v, e.rec+e.p.since) }

// spot returns where blob j's part lies: file offset, bytes, and the offset of those bytes in the extent.
func (e extent) spot(j int) (off, n, at int64) {
	return e.p.place.spot(e.p.table, j, e.p.place.pendVar(e.v), e.rec)
}

// blob is the blob that holds byte at of a process-centric extent.
func (e extent) blob(at int64) int {
	if nmap := e.p.place.nd() * mapVars; e.v >= nmap && e.p.place.schema.vars[e.v-nmap].Decomp == 0 {
		return 0
	}
	return sort.Search(e.p.place.shape.nblobs, func(j int) bool {
		_, _, a := e.spot(j)
		return a > at
	}) - 1
}

// offset returns where byte at of the extent lies in the file.
func (e extent) offset(at int64) int64 {
	if e.p.place.layout == VariableCentric {
		off, _ := e.p.place.at.Extent(e.v, e.rec)
		return off + at
	}
	off, _, begin := e.spot(max(e.blob(at), 0))
	return off + at - begin
}

// read reads bytes [lo, hi) of the extent and calls use with them, in order.
func (e extent) read(f io.ReaderAt, lo, hi int64, use func(at int64, b []byte)) error {
	pl := e.p.place
	buf := make([]byte, min(hi-lo, 256<<10))
	part := func(off, n int64) error {
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if err := readFull(f, b, off, e.p.name, e.field()); err != nil {
				return err
			}
			use(lo, b)
			off, lo, n = off+int64(len(b)), lo+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	if pl.layout == VariableCentric {
		return part(e.offset(lo), hi-lo)
	}
	for j := max(e.blob(lo), 0); lo < hi && j < pl.shape.nblobs; j++ {
		off, n, at := e.spot(j)
		if err := part(off+lo-at, min(hi, at+n)-lo); err != nil {
			return err
		}
	}
	return nil
}

// pendVar is the number that puts and queues have for a variable of the header.
func (p *place) pendVar(v int) int32 {
	if nmap := p.nd() * mapVars; v >= nmap {
		return int32(v - nmap)
	}
	return int32(-1 - v)
}

// spot says where entry i's part of a variable's record in the file lies: file offset, bytes, and the offset of those bytes in their
// extent. v is that of a pend.
func (p *place) spot(t *ranks, i int, v int32, rec int64) (off, n, at int64) {
	nd := p.nd()
	if v >= 0 {
		off, n = p.piece(VarID(v), rec, t, i)
		if d := p.schema.vars[v].Decomp; d != 0 {
			at = t.start[i*nd+int(d)-1] * int64(p.schema.vars[v].Type.Size())
		}
		return off, n, at
	}
	d, m := int(-1-v)/mapVars, int(-1-v)%mapVars
	off, n = p.mapPiece(d, m, t, i)
	j := int64(t.id[i])
	switch {
	case m < mapOffsets:
		at = n * j
	case p.layout == VariableCentric:
		at = n * j // padded rows
	case m == mapOffsets:
		at = p.offsetSize(d) * t.reqs[i*nd+d]
	default:
		at = 4 * t.reqs[i*nd+d]
	}
	return off, n, at
}
