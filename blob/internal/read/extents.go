package read

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"sort"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// ExtentSum is the checksum of an extent.
type ExtentSum struct {
	Ext    int64 // extent number in the manifest
	V      int   // index of the variable in the header
	Rec    int64 // record number in the file
	Crc    uint32
	Pieces []uint32 // checksums of the pieces, if the extent is longer than a piece
}

// ExtentSums computes the checksums of the extents of a subfile and of their pieces.
type ExtentSums struct {
	Part     *FilePart
	File     io.ReaderAt
	Records  int64         // number of records to read from a variable-centric file
	Piece    int64         // length of a piece in bytes; 0: extents have no pieces
	Progress func(n int64) // called with the number of bytes of each read
}

// Read reads all data of the subfile in file order and calls report with the checksums of each extent.
func (x *ExtentSums) Read(ctx context.Context, report func(ExtentSum)) error {
	f, pl, name, piece := x.File, x.Part.Place, x.Part.Name, x.Piece
	if pl.ByRank {
		return x.blobs(ctx, min(x.Records, pl.Blob.Records), report)
	}
	most := int64(1)
	for v := range pl.Header.Vars {
		most = max(most, pl.Header.Bytes(v))
	}
	buf := make([]byte, min(ReadBatch, most))
	for ext, e := range pl.Header.Extents(true, 0, x.Records) {
		off, n := pl.Header.At.Extent(e.Var, e.Rec)
		s := checksum.New(piece)
		for at := int64(0); at < n; {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := buf[:min(n-at, int64(len(buf)))]
			if err := layout.ReadFull(f, b, off+at, name, fmt.Sprintf("variable %q record %d", pl.Header.Vars[e.Var].Name, e.Rec)); err != nil {
				return err
			}
			s.Sum(ext, at, b)
			at += int64(len(b))
			x.Progress(int64(len(b)))
		}
		crc, pieces, _ := s.Joined(ext)
		report(ExtentSum{ext, e.Var, e.Rec, crc, pieces})
	}
	return nil
}

// blobs computes the checksums of a process-centric subfile blob by blob. The extent of a variable's record consists of the
// record's parts in all blobs, in order. The file may have room for more than records records.
func (x *ExtentSums) blobs(ctx context.Context, records int64, report func(ExtentSum)) error {
	pl, t, name, piece := x.Part.Place, x.Part.Table, x.Part.Name, x.Piece
	order, nmap := pl.Header.ExtentOrder(), pl.Header.Maps*layout.MapVars
	records, err := RecordsToSum(pl, records, order.Recs, name)
	if err != nil {
		return err
	}
	short := make([]uint32, order.First(records))
	long := checksum.New(piece) // extents with several pieces
	in := &blobStream{f: x.File, name: name, buf: make([]byte, min(ReadBatch, max(pl.DataLen, 1)))}
	take := func(ext, n int64, v int) error {
		field := pl.Header.Vars[v].Name
		pieces := layout.NumPieces(pl.ExtentBytes(v, t), piece) > 0
		for n > 0 {
			b, err := in.next(n, field)
			if err != nil {
				return err
			}
			if pieces {
				long.Sum(ext, long.End(ext), b)
			} else {
				short[ext] = crc32.Update(short[ext], crc32.IEEETable, b)
			}
			n -= int64(len(b))
		}
		return nil
	}
	for j := range pl.Shape.Blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := pl.Blob.Size(t, j)
		in.seek(t.Blob[j], pl.DataOff+pl.DataLen)
		for v := range nmap {
			_, n := pl.MapPiece(v/layout.MapVars, v%layout.MapVars, t, j)
			if err := take(order.Index(v, 0), n, v); err != nil {
				return err
			}
		}
		for i := range pl.Schema.Vars {
			v := nmap + i
			nrec := int64(1)
			if pl.Schema.Vars[i].Record {
				nrec = records
			}
			if _, n := pl.Piece(dataset.VarID(i), 0, t, j); n == 0 {
				continue
			}
			for rec := range nrec {
				_, n := pl.Piece(dataset.VarID(i), rec, t, j)
				if err := take(order.Index(v, rec), n, v); err != nil {
					return err
				}
			}
			if pl.Schema.Vars[i].Record && records < pl.Blob.Records {
				end, _ := pl.Piece(dataset.VarID(i), pl.Blob.Records, t, j) // the offset behind the last record
				in.seek(end, pl.DataOff+pl.DataLen)
			}
		}
		x.Progress(size)
	}
	for ext, e := range pl.Header.Extents(true, 0, records) {
		sum := ExtentSum{Ext: ext, V: e.Var, Rec: e.Rec, Crc: short[ext]}
		if long.End(ext) > 0 {
			sum.Crc, sum.Pieces, _ = long.Joined(ext)
		}
		report(sum)
	}
	return nil
}

// RecordsToSum returns for how many records checksums must be computed. records is the number in the header, and vars is the
// number of record variables; without record variables the result is 0.
func RecordsToSum(p *dataset.Place, records int64, vars int, name string) (int64, error) {
	if vars == 0 {
		return 0, nil
	}
	if records > dataset.MaxExtents/int64(vars) {
		return 0, fault.At(name, p.Header.Off+layout.NumrecsAt, "numrecs", dataset.ErrTooLarge, "%d records of %d variables need more than %d checksums", records, vars, dataset.MaxExtents)
	}
	return records, nil
}

// blobStream reads a file sequentially in large pieces.
type blobStream struct {
	f        io.ReaderAt
	name     string
	buf      []byte
	off, end int64 // file range of the buffered bytes that next has not returned yet
	stop     int64 // end of the bytes that may be read
}

func (s *blobStream) seek(off, stop int64) {
	if off < s.off || off > s.end {
		s.end = off
	}
	s.off, s.stop = off, stop
}

// next returns at least one and at most n bytes from the current offset on.
func (s *blobStream) next(n int64, field string) ([]byte, error) {
	if s.off == s.end {
		k := min(int64(len(s.buf)), s.stop-s.off)
		if k <= 0 {
			return nil, fault.At(s.name, s.off, field, dataset.ErrTruncated, "the data extend beyond the end of %s", layout.DataBlob)
		}
		// The bytes go to the end of the buffer, so that end-off is the number of remaining bytes.
		if err := layout.ReadFull(s.f, s.buf[int64(len(s.buf))-k:], s.off, s.name, field); err != nil {
			return nil, err
		}
		s.end = s.off + k
	}
	n = min(n, s.end-s.off)
	at := int64(len(s.buf)) - (s.end - s.off)
	s.off += n
	return s.buf[at : at+n], nil
}

// HeaderCRC returns the checksum of the header in the file.
func (p *FilePart) HeaderCRC() (subfile.CRC, error) {
	f, done, err := p.File()
	if err != nil {
		return 0, err
	}
	defer done()
	return dataset.HeaderCRC(f, p.Place, p.Name)
}

// VarExtent is one record of a variable in a subfile. It has a checksum in the manifest.
type VarExtent struct {
	P   *FilePart
	V   int   // index of the variable in the header
	Rec int64 // record number in the set
}

func (e VarExtent) Bytes() int64 { return e.P.Place.ExtentBytes(e.V, e.P.Table) }

// field returns the name of the extent. Its record number counts in the whole dataset.
func (e VarExtent) field() string { return FieldOf(e.P.Place, e.V, e.Rec+e.P.since) }

// spot returns the file offset of blob j's part of the extent, the length of the part, and its offset in the extent.
func (e VarExtent) spot(j int) (off, n, at int64) {
	return e.P.Place.Spot(e.P.Table, j, e.P.Place.Header.PendVar(e.V), e.Rec)
}

// blob returns the number of the blob that contains byte at of a process-centric extent.
func (e VarExtent) blob(at int64) int {
	if nmap := e.P.Place.Header.Maps * layout.MapVars; e.V >= nmap && e.P.Place.Schema.Vars[e.V-nmap].Decomp == 0 {
		return 0
	}
	return sort.Search(e.P.Place.Shape.Blobs, func(j int) bool {
		_, _, a := e.spot(j)
		return a > at
	}) - 1
}

// Offset returns the file offset of byte at of the extent.
func (e VarExtent) Offset(at int64) int64 {
	if off, ok := e.P.Place.Whole(e.V, e.Rec); ok {
		return off + at
	}
	off, _, begin := e.spot(max(e.blob(at), 0))
	return off + at - begin
}

// read reads bytes [lo, hi) of the extent and passes them to use in order.
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

// FieldOf returns the name of a header variable with a record number of the dataset.
func FieldOf(pl *dataset.Place, v int, rec int64) string {
	s := fmt.Sprintf("variable %q", pl.Header.Vars[v].Name)
	if pl.Header.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s
}
