package layout

import (
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"encoding/binary"
)

// Var is what the places in a file depend on of a variable.
type Var struct {
	Size   int64 // of an element in the file
	Elems  int64 // of a record, or of a fixed variable, in canonical terms
	Decomp int   // 1 is D1; 0: not decomposed
	Record bool
}

// Place says where everything of one subfile lies. It is immutable after the
// ranks' table is filled, and shared by all that read or write the subfile.
type Place struct {
	Traits
	how     Scheme
	Vars    []Var // of the schema
	Header  Header
	Shape   *Shape
	Big     bool    // byte order of the data
	FileLen int64   // of the file, when it was opened for reading; bounds every length
	DataOff int64   // by rank: file offset of data_blob
	DataLen int64   // by rank: its bytes
	Blob    Blob    // by rank
	Packed  *Packed // of a compressed subfile
}

// New returns the Place of a file of size bytes, or of one that is being written. Its header is still to be set.
func New(how Scheme, size int64) Place {
	return Place{Traits: how.traits(), how: how, FileLen: size}
}

// SetHeader sets what a header says. It is n bytes long.
func (p *Place) SetHeader(h *cdf5.Header, n int64, sh *Shape, maps int, vars []Var) {
	p.Header.Header, p.Header.Len, p.Header.Maps, p.Shape, p.Vars = h, n, maps, sh, vars
	p.how.bind(p)
}

// Piece returns where entry i's part of a variable's record lies: file offset
// and bytes. A variable that is not decomposed is a piece of sub rank 0.
func (p *Place) Piece(v int, rec int64, r *Ranks, i int) (off, n int64) {
	return p.how.piece(p, v, rec, r, i)
}

// mine returns which elements of a variable's record entry i has, as a range of the elements of the subfile.
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

// MapPiece returns where entry i's part of variable m of map d (from 0) lies.
// For the lists in the variable-centric layout n is the whole padded row.
func (p *Place) MapPiece(d, m int, r *Ranks, i int) (off, n int64) {
	return p.how.mapPiece(p, d, m, r, i)
}

// Spot says where entry i's part of a variable's record in the file lies: file offset, bytes, and the offset of those bytes in their
// extent. v is numbered as in a put: negative for a variable of a map.
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

// Whole returns where the extent of a header variable's record begins in the file, if it is there in one piece.
func (p *Place) Whole(v int, rec int64) (off int64, ok bool) { return p.how.whole(p, v, rec) }

// ExtentBytes is the length in bytes of an extent of a header variable; t holds all blobs.
func (p *Place) ExtentBytes(v int, t *Ranks) int64 { return p.how.extentBytes(p, v, t) }

// Pad is how many zeros follow on an extent of a header variable.
func (p *Place) Pad(v int) int64 { return p.how.pad(p, v) }

// FileSize is what the finished subfile measures.
func (p *Place) FileSize(records int64) int64 { return p.how.fileSize(p, records) }

// HeaderBytes returns the header as it is in the file, with its record count.
func (p *Place) HeaderBytes(records int64) ([]byte, error) {
	h := *p.Header.Header
	h.NumRecs = records
	return p.how.appendHeader(&h, make([]byte, 0, h.EncodedLen()))
}

// Holds reports whether a subfile can hold as many records as its set has; have is
// what its header says. The exact end is looked at when it is read.
func (p *Place) Holds(name string, have, want int64) error { return p.how.holds(p, name, have, want) }

// Settle gives the blobs of all ranks their places, once the number of records is known. It returns the metadata around them.
func (p *Place) Settle(all *Ranks, records int64) (*h5.Layout, error) {
	return p.how.settle(p, all, records)
}

// Container lays out what is around data of dataLen bytes, and sets where header and data lie; nil if there is nothing but a header.
func (p *Place) Container(dataLen int64) (*h5.Layout, error) { return p.how.container(p, dataLen) }

// ManifestBlobs is what the manifest lists of the places of blobs; at has the places of all ranks.
func (p *Place) ManifestBlobs(at []int64) []int64 { return p.how.blobs(p, at) }

// Gap is how many bytes are read and dropped rather than starting a new read.
func (p *Place) Gap() int64 { return p.how.gap() }

// Shown is the offset to name for what is at off of the plain file: none in a compressed one.
func (p *Place) Shown(off int64) int64 { return p.how.shown(off) }

// within says so if a file ends before n bytes from off on.
func (p *Place) within(off, n int64, name, field string) error {
	if off < 0 || n > p.FileLen-off {
		return fault.At(name, off, field, fault.ErrTruncated, "%d bytes, but the file ends at %d", n, p.FileLen)
	}
	return nil
}

// Rows reports whether the lists of a map are rows of equal width, one after the other.
func (p *Place) Rows() bool { return p.how.rows() }

// Elems is how many elements an extent of a header variable has; lists with the padding of their rows.
func (p *Place) Elems(v int) int64 { return p.how.elems(p, v) }

// Each visits all pieces in the order of the file, as long as visit returns true. rec is -1 of what has no records.
func (p *Place) Each(records int64, visit func(v int, rec int64, j int) bool) {
	p.how.each(p, records, visit)
}

// RecordBytes is how many bytes the file must have for each record; 0: none.
func (p *Place) RecordBytes() int64 { return p.how.recordBytes(p) }

// Backed reports whether a file has n bytes at off. If it is not sure they are to be read before they are believed.
func (p *Place) Backed(off, n int64, name, field string) (sure bool, err error) {
	return p.how.backed(p, off, n, name, field)
}

// RoomForLists reports whether the lists of map d of all blobs may be held in memory.
func (p *Place) RoomForLists(t *Ranks, d int, name string) error {
	return p.how.roomForLists(p, t, d, name)
}

// MayLack reports whether n bytes of the last variable can have been left unwritten.
func (p *Place) MayLack(n int64) bool { return p.how.mayLack(p, n) }

// Clone returns a copy whose container may be laid out anew.
func (p *Place) Clone() *Place {
	q := *p
	if q.Packed != nil {
		pk := *q.Packed
		q.Packed = &pk
	}
	return &q
}

// Order is the byte order of the data.
func (p *Place) Order() binary.ByteOrder {
	if p.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
