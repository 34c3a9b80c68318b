package blob

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// readFull reads len(b) bytes, or says where the file ends.
func readFull(f io.ReaderAt, b []byte, off int64, name, field string) error {
	if off < 0 || off > math.MaxInt64-int64(len(b)) {
		return formatErr(name, -1, field, ErrCorrupt, "its place, %d, cannot be in a file", off)
	}
	n, err := f.ReadAt(b, off)
	var bad *FormatError
	switch {
	case n == len(b):
		return nil
	case errors.As(err, &bad): // of a compressed file
		return err
	case err == nil || err == io.EOF:
		return formatErr(name, off+int64(n), field, ErrTruncated, "the file ends, %d of %d bytes read", n, len(b))
	}
	return pkg.Errorf("%s: %#x: %s: %w", name, off, field, err)
}

// loadTable reads what the file says of each of its blobs: number of requests,
// first element, number of elements; and for the process-centric layout where each blob lies.
// Every number is checked against the ones that it must agree with, and with the manifest's checksums. records are those of its set.
func (p *filePart) loadTable(records int64) error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if p.table, err = readTable(f, p.place, p.name, nil); err != nil {
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

// maxBarren is the most blobs of a subfile without maps, of which only the
// first holds anything.
const maxBarren = 1 << 22

// readTable does the work of loadTable. report, if it is not nil, is called
// with every fault found and reading goes on as far as that makes sense;
// otherwise the first fault is returned.
func readTable(f io.ReaderAt, pl *place, name string, report func(error)) (*ranks, error) {
	var first error
	fault := func(off int64, field string, class error, format string, args ...any) bool {
		err := formatErr(name, off, field, class, format, args...)
		if report != nil {
			report(err)
			return false
		}
		first = err
		return true
	}
	// Each blob needs 20 bytes per map in the file, so a table that does not
	// fit the file is not allocated. Without maps blobs need no bytes.
	nd, nb := pl.nd(), pl.shape.nblobs
	most := pl.fileLen / 20
	if nd == 0 {
		most = maxBarren
	} else {
		most /= int64(nd)
	}
	if int64(nb) > most {
		return nil, formatErr(name, pl.blobsAt(), "dimension "+dimBlobs, ErrTruncated, "%d, but a file of %d bytes has room for the maps of %d blobs", nb, pl.fileLen, most)
	}
	t := newRanks(nb, nd)
	for j := range nb {
		t.id[j] = j
	}
	var err error
	switch {
	case pl.layout == VariableCentric:
		err = readVarTable(f, pl, name, t)
	case pl.packed != nil:
		err = readPackedTable(f, pl, name, t)
	default:
		err = walkBlobs(f, pl, name, t)
	}
	if err != nil {
		return nil, err
	}
	for d := range nd {
		start, reqs := int64(0), int64(0)
		for j := range nb {
			k := j*nd + d
			at := func(m int) int64 {
				if pl.packed != nil {
					return pl.tableAt(d, m, j)
				}
				off, _ := pl.mapPiece(d, m, t, j)
				return off
			}
			field := func(m int) string { return fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j) }
			if n := t.nreqs[k]; n < 0 || n > pl.shape.maxReqs[d] {
				if fault(at(mapNreqs), field(mapNreqs), ErrCorrupt, "%d, want 0..%d (D%d.max_nreqs)", n, pl.shape.maxReqs[d], d+1) {
					return nil, first
				}
				t.nreqs[k] = min(max(n, 0), pl.shape.maxReqs[d])
			}
			if n := t.count[k]; n < 0 || n > pl.shape.nelems[d] {
				if fault(at(mapCount), field(mapCount), ErrCorrupt, "%d, want 0..%d (D%d.nelems)", n, pl.shape.nelems[d], d+1) {
					return nil, first
				}
				t.count[k] = min(max(n, 0), pl.shape.nelems[d])
			}
			if t.start[k] != start {
				if fault(at(mapStart), field(mapStart), ErrCorrupt, "%d, want %d, the sum of the counts before", t.start[k], start) {
					return nil, first
				}
				t.start[k] = start
			}
			if n := t.count[k]; n > pl.shape.nelems[d]-start {
				if fault(at(mapCount), field(mapCount), ErrCorrupt, "%d, want at most %d: D%d.nelems is %d", n, pl.shape.nelems[d]-start, d+1, pl.shape.nelems[d]) {
					return nil, first
				}
				t.count[k] = pl.shape.nelems[d] - start
			}
			t.reqs[k] = reqs
			start += t.count[k]
			reqs += t.nreqs[k]
		}
		if n := pl.shape.nelems[d]; start != n && !(start == 0 && n <= 1) {
			if fault(pl.nelemsAt(d), fmt.Sprintf("D%d.nelems", d+1), ErrCorrupt, "%d, but the blobs hold %d elements", n, start) {
				return nil, first
			}
		}
	}
	return t, nil
}

func readVarTable(f io.ReaderAt, pl *place, name string, t *ranks) error {
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

// walkBlobs finds the blobs of a process-centric subfile one after the other:
// the place of each follows only from the sizes of those before.
func walkBlobs(f io.ReaderAt, pl *place, name string, t *ranks) error {
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
