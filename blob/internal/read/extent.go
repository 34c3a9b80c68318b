package read

import (
	"fmt"
	"io"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
)

// VarExtent is what a subfile holds of one variable (of one record): what has a checksum in the manifest.
type VarExtent struct {
	P   *FilePart
	V   int   // variable of the header
	Rec int64 // of the set
}

func (e VarExtent) Bytes() int64 { return e.P.Place.ExtentBytes(e.V, e.P.Table) }

// field names it, with the record of the dataset.
func (e VarExtent) field() string { return FieldOf(e.P.Place, e.V, e.Rec+e.P.since) }

// spot returns where blob j's part lies: file offset, bytes, and the offset of those bytes in the extent.
func (e VarExtent) spot(j int) (off, n, at int64) {
	return e.P.Place.Spot(e.P.Table, j, e.P.Place.PendVar(e.V), e.Rec)
}

// blob is the blob that holds byte at of a process-centric extent.
func (e VarExtent) blob(at int64) int {
	if nmap := e.P.Place.NumMaps() * layout.MapVars; e.V >= nmap && e.P.Place.Schema.Vars[e.V-nmap].Decomp == 0 {
		return 0
	}
	return sort.Search(e.P.Place.Shape.Blobs, func(j int) bool {
		_, _, a := e.spot(j)
		return a > at
	}) - 1
}

// Offset returns where byte at of the extent lies in the file.
func (e VarExtent) Offset(at int64) int64 {
	if off, ok := e.P.Place.Whole(e.V, e.Rec); ok {
		return off + at
	}
	off, _, begin := e.spot(max(e.blob(at), 0))
	return off + at - begin
}

// read reads bytes [lo, hi) of the extent and calls use with them, in order.
func (e VarExtent) read(f io.ReaderAt, lo, hi int64, use func(at int64, b []byte)) error {
	pl := e.P.Place
	buf, field := make([]byte, min(hi-lo, 256<<10)), e.field()
	part := func(off, n int64) error {
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if err := layout.ReadFull(f, b, off, e.P.Name, field); err != nil {
				return err
			}
			use(lo, b)
			off, lo, n = off+int64(len(b)), lo+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	if off, ok := pl.Whole(e.V, e.Rec); ok {
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

// FieldOf names a header variable, and its record of the dataset.
func FieldOf(pl *dataset.Place, v int, rec int64) string {
	s := fmt.Sprintf("variable %q", pl.Header.Vars[v].Name)
	if pl.Header.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s
}
