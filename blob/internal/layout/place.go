package layout

import (
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"encoding/binary"
)

// Var has the properties of a variable that determine offsets.
type Var struct {
	Size   int64 // of an element in the file
	Elems  int64 // of a record, or of a fixed variable, in canonical terms
	Decomp int   // 1 is D1; 0: no decomposition
	Record bool
}

// Place computes the offsets of all data of one subfile. It is immutable once the ranks' table is filled, and shared by all
// readers and writers of the subfile.
type Place struct {
	Traits
	how     Scheme
	Vars    []Var // of the schema
	Header  Header
	Shape   *Shape
	Big     bool    // byte order of the data
	FileLen int64   // length of the file, if it was opened for reading; limits every other length
	DataOff int64   // by rank: file offset of data_blob
	DataLen int64   // by rank: length of data_blob
	Blob    Blob    // by rank
	Packed  *Packed // of a compressed subfile
}

// New returns the Place of a file of size bytes, or of a file being written. Its header is set later.
func New(how Scheme, size int64) Place {
	return Place{Traits: how.traits(), how: how, FileLen: size}
}

// SetHeader sets the contents of a header of n bytes.
func (p *Place) SetHeader(h *cdf5.Header, n int64, sh *Shape, maps int, vars []Var) {
	p.Header.Header, p.Header.Len, p.Header.Maps, p.Shape, p.Vars = h, n, maps, sh, vars
	p.how.bind(p)
}

// Piece returns the file offset and length of entry i's part of a variable's record. A variable without a decomposition is a
// piece of sub rank 0.
func (p *Place) Piece(v int, rec int64, r *Ranks, i int) (off, n int64) {
	return p.how.piece(p, v, rec, r, i)
}

// mine returns entry i's elements of a variable's record, as a range of the elements of the subfile.
func (p *Place) mine(v int, r *Ranks, i int) (start, count int64) {
	if d := p.Vars[v].Decomp; d != 0 {
		k := i*p.Header.Maps + d - 1
		return r.Start[k], r.Count[k]
	}
	if r.ID[i] == 0 {
		count = p.Vars[v].Elems
	}
	return 0, count
}

// MapPiece returns the file offset and length of entry i's part of variable m of map d (from 0). For the lists in the
// variable-centric layout n is the whole padded row.
func (p *Place) MapPiece(d, m int, r *Ranks, i int) (off, n int64) {
	return p.how.mapPiece(p, d, m, r, i)
}

// Spot returns the file offset of entry i's part of a variable's record, its length, and its offset in the extent. v is numbered
// as in a put: negative for a variable of a map.
func (p *Place) Spot(t *Ranks, i int, v int32, rec int64) (off, n, at int64) {
	if v >= 0 {
		off, n = p.how.piece(p, int(v), rec, t, i)
		if d := p.Vars[v].Decomp; d != 0 {
			at = t.Start[i*p.Header.Maps+d-1] * p.Vars[v].Size
		}
		return off, n, at
	}
	d, m := int(-1-v)/MapVars, int(-1-v)%MapVars
	off, n = p.how.mapPiece(p, d, m, t, i)
	if m < MapOffsets {
		return off, n, n * int64(t.ID[i])
	}
	return off, n, p.how.listAt(p, d, m, t, i)
}

// Whole returns the file offset of the extent of a header variable's record, if the extent is contiguous in the file.
func (p *Place) Whole(v int, rec int64) (off int64, ok bool) { return p.how.whole(p, v, rec) }

// ExtentBytes returns the length in bytes of an extent of a header variable; t has all blobs.
func (p *Place) ExtentBytes(v int, t *Ranks) int64 { return p.how.extentBytes(p, v, t) }

// Pad returns the number of zeros after an extent of a header variable.
func (p *Place) Pad(v int) int64 { return p.how.pad(p, v) }

// FileSize returns the size of the finished subfile.
func (p *Place) FileSize(records int64) int64 { return p.how.fileSize(p, records) }

// HeaderBytes returns the header in the form of the file, with its record count.
func (p *Place) HeaderBytes(records int64) ([]byte, error) {
	h := *p.Header.Header
	h.NumRecs = records
	return p.how.appendHeader(&h, make([]byte, 0, h.EncodedLen()))
}

// Holds returns an error if a subfile cannot have the records of its set. have is the number in its header. The exact end is
// checked when the last record is read.
func (p *Place) Holds(name string, have, want int64) error { return p.how.holds(p, name, have, want) }

// Settle computes the offsets of the blobs of all ranks, once the number of records is known. It returns the metadata around
// them.
func (p *Place) Settle(all *Ranks, records int64) (*h5.Layout, error) {
	return p.how.settle(p, all, records)
}

// Container lays out the metadata around data of dataLen bytes, and sets the offsets of header and data; nil if the file has only
// a header.
func (p *Place) Container(dataLen int64) (*h5.Layout, error) { return p.how.container(p, dataLen) }

// ManifestBlobs returns the manifest's list of the offsets of blobs; at has the offsets of all ranks.
func (p *Place) ManifestBlobs(at []int64) []int64 { return p.how.blobs(p, at) }

// Gap returns the maximum number of bytes that are read and dropped to avoid a new read.
func (p *Place) Gap() int64 { return p.how.gap() }

// Shown returns the offset in the file for offset off of the uncompressed file; -1 in a compressed one.
func (p *Place) Shown(off int64) int64 { return p.how.shown(off) }

// within returns an error if a file ends before n bytes from off on.
func (p *Place) within(off, n int64, name, field string) error {
	if off < 0 || n > p.FileLen-off {
		return fault.At(name, off, field, fault.ErrTruncated, "%d bytes, but the file ends at %d", n, p.FileLen)
	}
	return nil
}

// Rows reports whether the lists of a map are contiguous rows of equal width.
func (p *Place) Rows() bool { return p.how.rows() }

// Elems returns the number of elements of an extent of a header variable; lists include the padding of their rows.
func (p *Place) Elems(v int) int64 { return p.how.elems(p, v) }

// Each visits all pieces in the order of the file until visit returns false. rec is -1 without records.
func (p *Place) Each(records int64, visit func(v int, rec int64, j int) bool) {
	p.how.each(p, records, visit)
}

// RecordBytes returns the minimum number of bytes of the file for each record; 0: none.
func (p *Place) RecordBytes() int64 { return p.how.recordBytes(p) }

// Backed returns an error if a file cannot have n bytes at off. If sure is false, the bytes must be read before they are
// believed.
func (p *Place) Backed(off, n int64, name, field string) (sure bool, err error) {
	return p.how.backed(p, off, n, name, field)
}

// RoomForLists returns an error if the lists of map d of all blobs may need too much memory.
func (p *Place) RoomForLists(t *Ranks, d int, name string) error {
	return p.how.roomForLists(p, t, d, name)
}

// MayLack reports whether the last n bytes of the last variable may never have been written.
func (p *Place) MayLack(n int64) bool { return p.how.mayLack(p, n) }

// Clone returns a copy whose container may be laid out again.
func (p *Place) Clone() *Place {
	q := *p
	if q.Packed != nil {
		pk := *q.Packed
		q.Packed = &pk
	}
	return &q
}

// Order returns the byte order of the data.
func (p *Place) Order() binary.ByteOrder {
	if p.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
