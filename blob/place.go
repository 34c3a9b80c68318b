package blob

import (
	"blobio/cdf5"
	"blobio/h5"
)

// varShape is what the places in a file depend on of a variable.
type varShape struct {
	size   int64 // of an element in the file
	elems  int64 // of a record, or of a fixed variable, in canonical terms
	decomp int   // 1 is D1; 0: not decomposed
	record bool
}

// where says where everything of one subfile lies. It is immutable after the
// ranks' table is filled, and shared by all that read or write the subfile.
type where struct {
	traits
	how     scheme
	vars    []varShape // of the schema
	maps    int        // of the schema
	hdr     *cdf5.Header
	shape   *subShape
	big     bool         // byte order of the data
	at      *cdf5.Places // offsets of hdr's variables; nil if it has no begins
	lone    bool         // there is one record variable
	hdrOff  int64        // file offset of the header
	hdrLen  int64
	fileLen int64   // of the file, when it was opened for reading; bounds every length
	dataOff int64   // by rank: file offset of data_blob
	dataLen int64   // by rank: its bytes
	records int64   // by rank: records of every record variable
	packed  *packed // of a compressed subfile

	// By rank: a blob holds its variables one after the other. before[v*(nd+1)+d]
	// is the sum over the variables before v with map d+1 of records*size, so that the place of v
	// is the sum over d of before times the rank's count; column nd holds the
	// bytes of the variables that are not decomposed, which only blob 0 has.
	before []int64
}

// newWhere is of a file of so many bytes, or one that is written. Its header is still to be set.
func newWhere(how scheme, size int64) where {
	return where{traits: how.traits(), how: how, fileLen: size}
}

// setHeader sets what a header says. It is n bytes long.
func (p *where) setHeader(h *cdf5.Header, n int64, sh *subShape, maps int, vars []varShape) {
	p.hdr, p.hdrLen, p.shape, p.maps, p.vars = h, n, sh, maps, vars
	p.how.bind(p)
}

// ranks is what is known of each blob of a subfile, or of some of them.
// Entry i is sub rank id[i]; the values of map d are at i*nd+d.
type ranks struct {
	id    []int   // sub rank = blob number
	nreqs []int64 // requests
	start []int64 // first element of the blob in the subfile's nelems
	count []int64 // elements
	reqs  []int64 // requests of all lower sub ranks
	blob  []int64 // by rank: file offset of the blob
}

func newRanks(n, nd int) *ranks {
	all := make([]int64, 4*n*nd+n)
	return &ranks{id: make([]int, n), nreqs: all[:n*nd], start: all[n*nd : 2*n*nd], count: all[2*n*nd : 3*n*nd], reqs: all[3*n*nd : 4*n*nd], blob: all[4*n*nd:]}
}

func (p *where) nd() int { return p.maps }

// offsetSize is the size of an entry of Dk.offsets in bytes, d from 0.
func (p *where) offsetSize(d int) int64 {
	if p.shape.wide != nil && p.shape.wide[d] {
		return 8
	}
	return 4
}

// listSize is the size of an element of list m, offsets or lengths, of map d from 0.
func (p *where) listSize(d, m int) int64 {
	if m == mapOffsets {
		return p.offsetSize(d)
	}
	return 4
}

// piece returns where entry i's part of a variable's record lies: file offset
// and bytes. A variable that is not decomposed is a piece of sub rank 0.
func (p *where) piece(v int, rec int64, r *ranks, i int) (off, n int64) {
	return p.how.piece(p, v, rec, r, i)
}

// mine returns which elements of a variable's record entry i has, as a range of those of the subfile.
func (p *where) mine(v int, r *ranks, i int) (start, count int64) {
	if d := p.vars[v].decomp; d != 0 {
		k := i*p.maps + d - 1
		return r.start[k], r.count[k]
	}
	if r.id[i] == 0 {
		count = p.vars[v].elems
	}
	return 0, count
}

// mapPiece returns where entry i's part of variable m of map d (from 0) lies.
// For the lists in the variable-centric layout n is the whole padded row.
func (p *where) mapPiece(d, m int, r *ranks, i int) (off, n int64) {
	return p.how.mapPiece(p, d, m, r, i)
}

// fileVar is the index in the header of variable v of the schema.
func (p *where) fileVar(v int) int { return p.maps*mapVars + v }

// pendVar is the number that puts and queues have for a variable of the header.
func (p *where) pendVar(v int) int32 {
	if nmap := p.nd() * mapVars; v >= nmap {
		return int32(v - nmap)
	}
	return int32(-1 - v)
}

// spot says where entry i's part of a variable's record in the file lies: file offset, bytes, and the offset of those bytes in their
// extent. v is that of a pend.
func (p *where) spot(t *ranks, i int, v int32, rec int64) (off, n, at int64) {
	if v >= 0 {
		off, n = p.how.piece(p, int(v), rec, t, i)
		if d := p.vars[v].decomp; d != 0 {
			at = t.start[i*p.maps+d-1] * p.vars[v].size
		}
		return off, n, at
	}
	d, m := int(-1-v)/mapVars, int(-1-v)%mapVars
	off, n = p.how.mapPiece(p, d, m, t, i)
	if m < mapOffsets {
		return off, n, n * int64(t.id[i])
	}
	return off, n, p.how.listAt(p, d, m, t, i)
}

// whole returns where the extent of a header variable's record begins in the file, if it is there in one piece.
func (p *where) whole(v int, rec int64) (off int64, ok bool) { return p.how.whole(p, v, rec) }

// extentBytes is the length in bytes of an extent of a header variable; t holds all blobs.
func (p *where) extentBytes(v int, t *ranks) int64 { return p.how.extentBytes(p, v, t) }

// pad is how many zeros follow on an extent of a header variable.
func (p *where) pad(v int) int64 { return p.how.pad(p, v) }

// extentOrder says of each header variable how many of its kind come before it.
type extentOrder struct {
	fixed, recs int // variables
	pos         []int
}

func (p *where) extentOrder() *extentOrder {
	o := &extentOrder{pos: make([]int, len(p.hdr.Vars))}
	for v := range p.hdr.Vars {
		n := &o.fixed
		if p.hdr.IsRecord(v) {
			n = &o.recs
		}
		o.pos[v] = *n
		*n++
	}
	return o
}

// kinds lists the header's fixed and record variables, in definition order.
func (p *where) kinds() (fixed, recs []int) {
	for v := range p.hdr.Vars {
		if p.hdr.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	return fixed, recs
}

// fileSize is what the finished subfile measures.
func (p *where) fileSize(records int64) int64 { return p.how.fileSize(p, records) }

// headerBytes returns the header as it is in the file, with its record count.
func (p *where) headerBytes(records int64) ([]byte, error) {
	h := *p.hdr
	h.NumRecs = records
	return p.how.appendHeader(&h, make([]byte, 0, h.EncodedLen()))
}

// holds says whether a subfile can hold as many records as its set has; have is
// what its header says. The exact end is looked at when it is read.
func (p *where) holds(name string, have, want int64) error { return p.how.holds(p, name, have, want) }

// settle gives the blobs of all ranks their places, once the number of records is known. It returns the metadata around them.
func (p *where) settle(all *ranks, records int64) (*h5.Layout, error) {
	return p.how.settle(p, all, records)
}

// container lays out what is around data of so many bytes, and sets where header and data lie; nil if there is nothing but a header.
func (p *where) container(dataLen int64) (*h5.Layout, error) { return p.how.container(p, dataLen) }

// manifestBlobs is what the manifest lists of the places of blobs; at are those of all ranks.
func (p *where) manifestBlobs(at []int64) []int64 { return p.how.blobs(p, at) }

// gap is how many bytes are read and dropped rather than starting a new read.
func (p *where) gap() int64 { return p.how.gap() }

// shown is the offset to name for what is at off of the plain file: none in a compressed one.
func (p *where) shown(off int64) int64 { return p.how.shown(off) }

// within says so if a file ends before n bytes from off on.
func (p *where) within(off, n int64, name, field string) error {
	if off < 0 || n > p.fileLen-off {
		return formatErr(name, off, field, ErrTruncated, "%d bytes, but the file ends at %d", n, p.fileLen)
	}
	return nil
}

// rows says whether the lists of a map are rows of equal width, one after the other.
func (p *where) rows() bool { return p.how.rows() }

// elems is how many elements an extent of a header variable has; lists with the padding of their rows.
func (p *where) elems(v int) int64 { return p.how.elems(p, v) }

// each visits all pieces in the order of the file, as long as visit returns true. rec is -1 of what has no records.
func (p *where) each(records int64, visit func(v int, rec int64, j int) bool) {
	p.how.each(p, records, visit)
}

// recordBytes is how many bytes the file must have for each record; 0: none.
func (p *where) recordBytes() int64 { return p.how.recordBytes(p) }

// backed says whether a file has n bytes at off. If it is not sure they are to be read before they are believed.
func (p *where) backed(off, n int64, name, field string) (sure bool, err error) {
	return p.how.backed(p, off, n, name, field)
}

// roomForLists says whether the lists of map d of all blobs may be held in memory.
func (p *where) roomForLists(t *ranks, d int, name string) error {
	return p.how.roomForLists(p, t, d, name)
}

// mayLack says whether n bytes of the last variable can have been left unwritten.
func (p *where) mayLack(n int64) bool { return p.how.mayLack(p, n) }

// clone returns a copy whose container may be laid out anew.
func (p *where) clone() *where {
	q := *p
	if q.packed != nil {
		pk := *q.packed
		q.packed = &pk
	}
	return &q
}

// lastPiece returns the file offset of the last variable (of the last record)
// of a CDF file, and where its data end. A canonical file that is written
// without fill mode, as PnetCDF does by default, ends behind the last element that somebody
// wrote: what lacks of its last piece was never written, and is zero like every other hole in the file.
func (p *where) lastPiece(records int64) (off, end int64) {
	for v := range p.hdr.Vars {
		rec := int64(0)
		if p.hdr.IsRecord(v) {
			if records == 0 {
				continue
			}
			rec = records - 1
		}
		if o, n := p.at.Extent(v, rec); o >= off {
			off, end = o, o+n
		}
	}
	return off, end
}
