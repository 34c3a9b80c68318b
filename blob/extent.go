package blob

import (
	"fmt"
	"io"
	"sort"

	"blobio/blob/internal/layout"
)

// extent is what a subfile holds of one variable (of one record): what has a checksum in the manifest.
type extent struct {
	p   *filePart
	v   int   // variable of the header
	rec int64 // of the set
}

func (e extent) bytes() int64 { return e.p.place.ExtentBytes(e.v, e.p.table) }

// field names it, with the record of the dataset.
func (e extent) field() string { return fieldOf(e.p.place, e.v, e.rec+e.p.since) }

// spot returns where blob j's part lies: file offset, bytes, and the offset of those bytes in the extent.
func (e extent) spot(j int) (off, n, at int64) {
	return e.p.place.Spot(e.p.table, j, e.p.place.PendVar(e.v), e.rec)
}

// blob is the blob that holds byte at of a process-centric extent.
func (e extent) blob(at int64) int {
	if nmap := e.p.place.NumMaps() * layout.MapVars; e.v >= nmap && e.p.place.schema.vars[e.v-nmap].Decomp == 0 {
		return 0
	}
	return sort.Search(e.p.place.Shape.Blobs, func(j int) bool {
		_, _, a := e.spot(j)
		return a > at
	}) - 1
}

// offset returns where byte at of the extent lies in the file.
func (e extent) offset(at int64) int64 {
	if off, ok := e.p.place.Whole(e.v, e.rec); ok {
		return off + at
	}
	off, _, begin := e.spot(max(e.blob(at), 0))
	return off + at - begin
}

// read reads bytes [lo, hi) of the extent and calls use with them, in order.
func (e extent) read(f io.ReaderAt, lo, hi int64, use func(at int64, b []byte)) error {
	pl := e.p.place
	buf, field := make([]byte, min(hi-lo, 256<<10)), e.field()
	part := func(off, n int64) error {
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if err := layout.ReadFull(f, b, off, e.p.name, field); err != nil {
				return err
			}
			use(lo, b)
			off, lo, n = off+int64(len(b)), lo+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	if off, ok := pl.Whole(e.v, e.rec); ok {
		return part(off+lo, hi-lo)
	}
	for j := max(e.blob(lo), 0); lo < hi && j < pl.Shape.Blobs; j++ {
		off, n, at := e.spot(j)
		if err := part(off+lo-at, min(hi, at+n)-lo); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf names a header variable, and its record of the dataset.
func fieldOf(pl *place, v int, rec int64) string {
	s := fmt.Sprintf("variable %q", pl.Header.Vars[v].Name)
	if pl.Header.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s
}
