package layout

import (
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"encoding/binary"
)

// Var has the properties of a variable that determine offsets.
type Var struct {
	Size   int64 // size of an element in the file
	Elems  int64 // number of elements of a record, or of a fixed variable, in the canonical shape
	Decomp int   // 1 means D1; 0: no decomposition
	Record bool
}

// Place computes the offsets of all data of one subfile. Once the ranks' table is filled, Place is immutable. All readers and
// writers of the subfile share it.
type Place struct {
	Traits
	how     Scheme
	Vars    []Var // variables of the schema
	Header  Header
	Shape   *Shape
	Big     bool    // byte order of the data
	FileLen int64   // length of a file opened for reading; limits every other length
	DataOff int64   // with ByRank: file offset of data_blob
	DataLen int64   // with ByRank: length of data_blob
	Blob    Blob    // by rank
	Packed  *Packed // set for a compressed subfile
}

// New returns the Place of a file of size bytes, or of a file being written. The caller sets the header later.
func New(how Scheme, size int64) Place {
	return Place{Traits: how.traits(), how: how, FileLen: size}
}

// SetHeader sets the contents of a header of n bytes.
func (p *Place) SetHeader(h *cdf5.Header, n int64, sh *Shape, maps int, vars []Var) {
	p.Header.Header, p.Header.Len, p.Header.Maps, p.Shape, p.Vars = h, n, maps, sh, vars
	p.how.bind(p)
}

// Piece returns the file offset and length of entry i's part of a variable's record. A variable without a decomposition belongs
// to sub rank 0.
func (p *Place) Piece(v int, rec int64, r *Ranks, i int) (off, n int64) {
	return p.how.piece(p, v, rec, r, i)
}

// mine returns entry i's elements of a variable's record, as a range in the elements of the subfile.
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

// MapPiece returns the file offset and length of entry i's part of variable m of map d, counted from 0. In the variable-centric
// layout, a list is as long as the whole padded row.
func (p *Place) MapPiece(d, m int, r *Ranks, i int) (off, n int64) {
	return p.how.mapPiece(p, d, m, r, i)
}

// Spot returns the file offset of entry i's part of a variable's record, its length, and its offset in the extent. v is numbered
// as in puts, where variables of maps are negative.
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

// Pad returns the number of zeros that follow an extent of a header variable.
func (p *Place) Pad(v int) int64 { return p.how.pad(p, v) }

// FileSize returns the size of the finished subfile.
func (p *Place) FileSize(records int64) int64 { return p.how.fileSize(p, records) }

// HeaderBytes returns the header in the format of the file, with the number of records.
func (p *Place) HeaderBytes(records int64) ([]byte, error) {
	h := *p.Header.Header
	h.NumRecs = records
	return p.how.appendHeader(&h, make([]byte, 0, h.EncodedLen()))
}

// Holds returns an error if a subfile cannot have the records of its set. have is the number in the subfile's header, and want is
// the set's number. The exact end is checked only when the last record is read.
func (p *Place) Holds(name string, have, want int64) error { return p.how.holds(p, name, have, want) }

// Settle computes the offsets of the blobs of all ranks, once the number of records is known. It returns the metadata around the
// blobs.
func (p *Place) Settle(all *Ranks, records int64) (*h5.Layout, error) {
	return p.how.settle(p, all, records)
}

// Container lays out the metadata around data of dataLen bytes, and sets the offsets of header and data. It returns nil if the
// file has only a header.
func (p *Place) Container(dataLen int64) (*h5.Layout, error) { return p.how.container(p, dataLen) }

// ManifestBlobs returns the manifest's list of the offsets of blobs; at has the offsets of all ranks.
func (p *Place) ManifestBlobs(at []int64) []int64 { return p.how.blobs(p, at) }

// Gap returns how many bytes a reader may read and drop to avoid another read.
func (p *Place) Gap() int64 { return p.how.gap() }

// Shown returns the offset in the file for an offset in the uncompressed file. It returns -1 for a compressed file.
func (p *Place) Shown(off int64) int64 { return p.how.shown(off) }

// within returns an error if the file ends before byte off+n.
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

// Each visits all pieces in the order of the file until visit returns false. For a fixed variable rec is -1.
func (p *Place) Each(records int64, visit func(v int, rec int64, j int) bool) {
	p.how.each(p, records, visit)
}

// RecordBytes returns the minimum number of bytes that each record has in the file.
func (p *Place) RecordBytes() int64 { return p.how.recordBytes(p) }

// Backed returns an error if a file cannot have n bytes at off. If sure is false, only reading the bytes shows whether they
// exist.
func (p *Place) Backed(off, n int64, name, field string) (sure bool, err error) {
	return p.how.backed(p, off, n, name, field)
}

// RoomForLists returns an error if the lists of map d of all blobs may need too much memory.
func (p *Place) RoomForLists(t *Ranks, d int, name string) error {
	return p.how.roomForLists(p, t, d, name)
}

// MayLack reports whether the last n bytes of the last variable may never have been written.
func (p *Place) MayLack(n int64) bool { return p.how.mayLack(p, n) }

// Clone returns a copy whose container can be laid out again.
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
