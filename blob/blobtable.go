package blob

import (
	"errors"
	"fmt"
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
	return fmt.Errorf("blob: %s: %#x: %s: %w", name, off, field, err)
}

// maxBarren is the most blobs of a subfile without maps, of which only the
// first holds anything.
const maxBarren = 1 << 22

// readTable does the work of loadTable. report, if it is not nil, is called
// with every fault found and reading goes on as far as that makes sense;
// otherwise the first fault is returned.
func readTable(f io.ReaderAt, pl *where, name string, report func(error)) (*ranks, error) {
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
	err := pl.how.readTable(pl, f, name, t)
	if err != nil {
		return nil, err
	}
	for d := range nd {
		start, reqs := int64(0), int64(0)
		for j := range nb {
			k := j*nd + d
			at := func(m int) int64 { return pl.how.tableAt(pl, d, m, t, j) }
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
