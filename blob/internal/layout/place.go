package layout

import (
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"encoding/binary"
	"iter"
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
	how       Scheme
	Vars      []Var // of the schema
	maps      int   // of the schema
	Header    *cdf5.Header
	Shape     *Shape
	Big       bool         // byte order of the data
	At        *cdf5.Places // offsets of hdr's variables; nil if it has no begins
	lone      bool         // there is one record variable
	HeaderOff int64        // file offset of the header
	HeaderLen int64
	FileLen   int64   // of the file, when it was opened for reading; bounds every length
	DataOff   int64   // by rank: file offset of data_blob
	DataLen   int64   // by rank: its bytes
	Records   int64   // by rank: records of every record variable
	Packed    *Packed // of a compressed subfile

	// By rank: a blob holds its variables one after the other. before[v*(nd+1)+d]
	// is the sum over the variables before v with map d+1 of records*size, so that the place of v
	// is the sum over d of before times the rank's count; column nd holds the
	// bytes of the variables that are not decomposed, which only blob 0 has.
	before []int64
}

// New returns the Place of a file of size bytes, or of one that is being written. Its header is still to be set.
func New(how Scheme, size int64) Place {
	return Place{Traits: how.traits(), how: how, FileLen: size}
}

// SetHeader sets what a header says. It is n bytes long.
func (p *Place) SetHeader(h *cdf5.Header, n int64, sh *Shape, maps int, vars []Var) {
	p.Header, p.HeaderLen, p.Shape, p.maps, p.Vars = h, n, sh, maps, vars
	p.how.bind(p)
}

// Ranks is what is known of each blob of a subfile, or of some of them.
// Entry i is sub rank id[i]; the values of map d are at i*nd+d.
type Ranks struct {
	ID    []int   // sub rank = blob number
	Nreqs []int64 // requests
	Start []int64 // first element of the blob in the subfile's nelems
	Count []int64 // elements
	Reqs  []int64 // requests of all lower sub ranks
	Blob  []int64 // by rank: file offset of the blob
}

func NewRanks(n, nd int) *Ranks {
	all := make([]int64, 4*n*nd+n)
	return &Ranks{ID: make([]int, n), Nreqs: all[:n*nd], Start: all[n*nd : 2*n*nd], Count: all[2*n*nd : 3*n*nd], Reqs: all[3*n*nd : 4*n*nd], Blob: all[4*n*nd:]}
}

// Some returns entries [lo, hi) of a table of nd maps.
func (r *Ranks) Some(lo, hi, nd int) *Ranks {
	return &Ranks{r.ID[lo:hi], r.Nreqs[lo*nd : hi*nd], r.Start[lo*nd : hi*nd], r.Count[lo*nd : hi*nd], r.Reqs[lo*nd : hi*nd], r.Blob[lo:hi]}
}

func (p *Place) NumMaps() int { return p.maps }

// OffsetSize is the size of an entry of Dk.offsets in bytes, d from 0.
func (p *Place) OffsetSize(d int) int64 {
	if p.Shape.Wide != nil && p.Shape.Wide[d] {
		return 8
	}
	return 4
}

// listSize is the size of an element of list m, offsets or lengths, of map d from 0.
func (p *Place) listSize(d, m int) int64 {
	if m == MapOffsets {
		return p.OffsetSize(d)
	}
	return 4
}

// Piece returns where entry i's part of a variable's record lies: file offset
// and bytes. A variable that is not decomposed is a piece of sub rank 0.
func (p *Place) Piece(v int, rec int64, r *Ranks, i int) (off, n int64) {
	return p.how.piece(p, v, rec, r, i)
}

// mine returns which elements of a variable's record entry i has, as a range of the elements of the subfile.
func (p *Place) mine(v int, r *Ranks, i int) (start, count int64) {
	if d := p.Vars[v].Decomp; d != 0 {
		k := i*p.maps + d - 1
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

// FileVar is the index in the header of variable v of the schema.
func (p *Place) FileVar(v int) int { return p.maps*MapVars + v }

// PendVar is the number that puts and queues have for a variable of the header.
func (p *Place) PendVar(v int) int32 {
	if nmap := p.NumMaps() * MapVars; v >= nmap {
		return int32(v - nmap)
	}
	return int32(-1 - v)
}

// HeaderVar is the reverse of PendVar.
func (p *Place) HeaderVar(v int32) int {
	if v < 0 {
		return int(-1 - v)
	}
	return p.FileVar(int(v))
}

// Spot says where entry i's part of a variable's record in the file lies: file offset, bytes, and the offset of those bytes in their
// extent. v is numbered as in a put: negative for a variable of a map.
func (p *Place) Spot(t *Ranks, i int, v int32, rec int64) (off, n, at int64) {
	if v >= 0 {
		off, n = p.how.piece(p, int(v), rec, t, i)
		if d := p.Vars[v].Decomp; d != 0 {
			at = t.Start[i*p.maps+d-1] * p.Vars[v].Size
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

// ExtentOrder says of each header variable how many of its kind come before it.
type ExtentOrder struct {
	Fixed, Recs int // variables
	Pos         []int
	record      []bool
}

// Index is the number of a variable's record among the checksums of the manifest: fixed variables come first, then each record.
func (o *ExtentOrder) Index(v int, rec int64) int64 {
	if o.record[v] {
		return o.First(rec) + int64(o.Pos[v])
	}
	return int64(o.Pos[v])
}

// First is the number of the first extent of a record.
func (o *ExtentOrder) First(rec int64) int64 { return int64(o.Fixed) + rec*int64(o.Recs) }

func (p *Place) ExtentOrder() *ExtentOrder {
	o := &ExtentOrder{Pos: make([]int, len(p.Header.Vars)), record: make([]bool, len(p.Header.Vars))}
	for v := range p.Header.Vars {
		n := &o.Fixed
		if o.record[v] = p.Header.IsRecord(v); o.record[v] {
			n = &o.Recs
		}
		o.Pos[v] = *n
		*n++
	}
	return o
}

// Kinds lists the header's fixed and record variables, in definition order.
func (p *Place) Kinds() (fixed, recs []int) {
	for v := range p.Header.Vars {
		if p.Header.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	return fixed, recs
}

// Extent is a header variable, of one record.
type Extent struct {
	Var int
	Rec int64 // of the file
}

// Extents yields extents with their numbers, in the order of ExtentOrder: fixed variables if asked, and records [from, to).
func (p *Place) Extents(fixed bool, from, to int64) iter.Seq2[int64, Extent] {
	return func(yield func(int64, Extent) bool) {
		fix, recs := p.Kinds()
		if fixed {
			for k, v := range fix {
				if !yield(int64(k), Extent{v, 0}) {
					return
				}
			}
		}
		for rec := from; rec < to && len(recs) > 0; rec++ { // without record variables whatever the header says
			for k, v := range recs {
				if !yield(int64(len(fix))+rec*int64(len(recs))+int64(k), Extent{v, rec}) {
					return
				}
			}
		}
	}
}

// FileSize is what the finished subfile measures.
func (p *Place) FileSize(records int64) int64 { return p.how.fileSize(p, records) }

// HeaderBytes returns the header as it is in the file, with its record count.
func (p *Place) HeaderBytes(records int64) ([]byte, error) {
	h := *p.Header
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

// LastPiece returns the file offset of the last variable (of the last record)
// of a CDF file, and where its data end. A canonical file that is written
// without fill mode, as PnetCDF does by default, ends behind the last element that somebody
// wrote: what lacks of its last piece was never written, and is zero like every other hole in the file.
func (p *Place) LastPiece(records int64) (off, end int64) {
	for v := range p.Header.Vars {
		rec := int64(0)
		if p.Header.IsRecord(v) {
			if records == 0 {
				continue
			}
			rec = records - 1
		}
		if o, n := p.At.Extent(v, rec); o >= off {
			off, end = o, o+n
		}
	}
	return off, end
}

// Order is the byte order of the data.
func (p *Place) Order() binary.ByteOrder {
	if p.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
