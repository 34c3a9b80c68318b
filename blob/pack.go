package blob

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"blobio/cdf5"
	"blobio/internal/codec"
	"blobio/internal/crccat"
)

// Names of the datasets of a compressed process-centric subfile. They are others than those of a plain
// one, so that no reader takes the one for the other.
const (
	headerPacked = "header_zblob"
	dataPacked   = "data_zblob"
	indexPacked  = "index_zblob"
)

// attPacked is the global attribute of a compressed subfile: version and bytes of a chunk.
const (
	attPacked     = "blobio_compression"
	packedVersion = 1
)

// A piece, what one blob holds of a variable's record or of a list of a map, is compressed in chunks of
// so many bytes of content, the last one less.
const (
	defaultChunk = 256 << 10
	maxChunk     = 16 << 20
)

// The index, little endian: a head, the table of the blobs, the entries of all chunks.
const (
	indexMagic    = "blobzidx"
	indexHead     = 32 // magic, version 4, chunk 4, entries 8, crc of what follows the head 4, crc of the 28 bytes before 4
	indexRow      = 20 // of each blob and map: nreqs 4, blob_start 8, blob_count 8
	indexEntryLen = 24 // offset in data_zblob 8, stored bytes 4, form 1, zeros 3, crc of stored bytes 4, crc of content 4
)

// Forms of a chunk.
const (
	formNone  = iota // never written
	formRaw          // as it is
	formZstd         // a zstd frame
	formPlane        // a zstd frame of the shuffled bytes
	formCount
)

var formNames = [formCount]string{"", "none", "zstd", "shuffle+zstd"}

// packed is what a place knows of a compressed subfile. place.dataOff and dataLen are then those that
// data_blob would have at the place of data_zblob if it were not compressed, and all offsets within are
// of that; unpacker brings them to the file.
type packed struct {
	chunk  int64
	stored int64 // bytes of data_zblob
	idxOff int64
	idxLen int64
	x      *packIndex // reading: of all blobs, when the table is read
	memory int64      // reading: what lists of requests may take that are far longer than the file
}

// packEntry tells of one chunk.
type packEntry struct {
	off     int64 // in data_zblob
	stored  uint32
	form    uint8
	sum     uint32 // of the stored bytes
	content uint32 // of the content
}

func (e *packEntry) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.off))
	b = binary.LittleEndian.AppendUint32(b, e.stored)
	b = append(b, e.form, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, e.sum)
	return binary.LittleEndian.AppendUint32(b, e.content)
}

func parseEntry(b []byte) (e packEntry, zeros bool) {
	le := binary.LittleEndian
	return packEntry{off: int64(le.Uint64(b)), stored: le.Uint32(b[8:]), form: b[12], sum: le.Uint32(b[16:]), content: le.Uint32(b[20:])},
		b[13]|b[14]|b[15] == 0
}

// fault says what is wrong with an entry whose chunk has n bytes of content, "" if nothing is.
func (e *packEntry) fault(n, stored int64) string {
	switch {
	case e.form == formNone || e.form >= formCount:
		return fmt.Sprintf("form %d, want 1 to %d", e.form, formCount-1)
	case e.off < 0 || int64(e.stored) > stored || e.off > stored-int64(e.stored):
		return fmt.Sprintf("%d bytes at %d, but %s has %d", e.stored, e.off, dataPacked, stored)
	case e.form == formRaw && int64(e.stored) != n:
		return fmt.Sprintf("%d bytes of %d without compression", e.stored, n)
	case int64(e.stored) > n || n > int64(e.stored)*codec.MaxExpansion:
		return fmt.Sprintf("%d bytes for %d of content", e.stored, n)
	}
	return ""
}

// packIndex says which entries a piece has. They are ordered by variable and record, then by blob:
// the lists of the maps (D1.offsets, D1.lengths, D2...), then the variables as in the header.
type packIndex struct {
	pl    *where
	t     *ranks
	chunk int64
	cum   [][]int64 // by class: chunks of the blobs before; nil if no variable is of that class
	lists []int64   // by map and list: its first entry
	vars  []int64   // by variable: its first entry
	step  []int64   // by variable: entries of a record
	total int64
	ents  []packEntry // while writing
}

// Classes of pieces that have the same lengths in all blobs: of each map, elements of 1, 2, 4 and 8
// bytes, offsets, lengths.
const packClasses = 6

func sizeClass(d int, size int64) int {
	k := 0
	for s := int64(1); s < size; s *= 2 {
		k++
	}
	return d*packClasses + k
}

func chunksOf(n, chunk int64) int64 { return n/chunk + (n%chunk+chunk-1)/chunk }

func newPackIndex(pl *where, t *ranks, chunk int64) (*packIndex, error) {
	nd := pl.nd()
	x := &packIndex{pl: pl, t: t, chunk: chunk, cum: make([][]int64, nd*packClasses), lists: make([]int64, 2*nd)}
	class := func(c int, bytes func(i int) int64) int64 {
		if x.cum[c] == nil {
			l := make([]int64, len(t.id)+1)
			for i := range t.id {
				l[i+1] = l[i] + chunksOf(bytes(i), chunk)
			}
			x.cum[c] = l
		}
		return x.cum[c][len(t.id)]
	}
	for d := range nd {
		for w := range 2 {
			size := x.listSize(d, w)
			x.lists[2*d+w] = x.total
			x.total += class(d*packClasses+4+w, func(i int) int64 { return size * t.nreqs[i*nd+d] })
		}
	}
	for v := range pl.vars {
		sv := &pl.vars[v]
		size, recs := sv.size, int64(1)
		if sv.record {
			recs = pl.records
		}
		n := int64(0)
		if d := sv.decomp - 1; d >= 0 {
			n = class(sizeClass(d, size), func(i int) int64 { return size * t.count[i*nd+d] })
		} else if len(t.id) > 0 && t.id[0] == 0 {
			n = chunksOf(sv.elems*size, chunk)
		}
		x.vars, x.step = append(x.vars, x.total), append(x.step, n)
		if n > 0 && recs > (math.MaxInt64/indexEntryLen/2-x.total)/n {
			return nil, fmt.Errorf("%d records of variable %q need too many entries", recs, pl.hdr.Vars[pl.fileVar(v)].Name)
		}
		x.total += n * recs
	}
	return x, nil
}

// listSize is the size of an element of a list: 0 is offsets, 1 lengths.
func (x *packIndex) listSize(d, w int) int64 {
	if w == 0 {
		return x.pl.offsetSize(d)
	}
	return 4
}

// list returns the first entry of a list of blob i, its bytes and the size of an element.
func (x *packIndex) list(d, w, i int) (first, n, size int64) {
	size = x.listSize(d, w)
	return x.lists[2*d+w] + x.cum[d*packClasses+4+w][i], size * x.t.nreqs[i*x.pl.nd()+d], size
}

// piece returns the first entry of blob i's part of a variable's record (counted in this file), its
// bytes and the size of an element.
func (x *packIndex) piece(v int, rec int64, i int) (first, n, size int64) {
	sv := &x.pl.vars[v]
	size = sv.size
	first = x.vars[v] + rec*x.step[v]
	if d := sv.decomp - 1; d >= 0 {
		return first + x.cum[sizeClass(d, size)][i], size * x.t.count[i*x.pl.nd()+d], size
	}
	if x.t.id[i] == 0 {
		n = sv.elems * size
	}
	return first, n, size
}

// each calls f for each piece of blob i, in the order of the entries.
func (x *packIndex) each(i int, f func(first, n int64)) {
	for d := range x.pl.nd() {
		for w := range 2 {
			first, n, _ := x.list(d, w, i)
			f(first, n)
		}
	}
	for v := range x.pl.vars {
		recs := int64(1)
		if x.pl.vars[v].record {
			recs = x.pl.records
		}
		for rec := range recs {
			first, n, _ := x.piece(v, rec, i)
			f(first, n)
		}
	}
}

// tableLen is the length of the table of the blobs in the index.
func (p *where) tableLen() int64 { return indexRow * int64(p.nd()) * int64(p.shape.nblobs) }

// tableAt is where the index says of map d of blob j: variable m.
func (p *where) tableAt(d, m, j int) int64 {
	return p.packed.idxOff + indexHead + indexRow*(int64(j)*int64(p.nd())+int64(d)) + [...]int64{mapNreqs: 0, mapStart: 4, mapCount: 12}[m]
}

// encode returns the index of all blobs as it is in the file.
func (x *packIndex) encode() []byte {
	le := binary.LittleEndian
	nd := x.pl.nd()
	b := make([]byte, indexHead, indexHead+int64(len(x.t.id)*nd)*indexRow+x.total*indexEntryLen)
	for i := range x.t.id {
		for k := i * nd; k < (i+1)*nd; k++ {
			b = le.AppendUint32(b, uint32(x.t.nreqs[k]))
			b = le.AppendUint64(b, uint64(x.t.start[k]))
			b = le.AppendUint64(b, uint64(x.t.count[k]))
		}
	}
	for k := range x.ents {
		b = x.ents[k].append(b)
	}
	copy(b, indexMagic)
	le.PutUint32(b[8:], packedVersion)
	le.PutUint32(b[12:], uint32(x.chunk))
	le.PutUint64(b[16:], uint64(x.total))
	le.PutUint32(b[24:], crc32.ChecksumIEEE(b[indexHead:]))
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	return b
}

// sum is the checksum of the content of a header variable's record in all blobs, one after the other,
// as the manifest has it.
func (x *packIndex) sum(fileVar int, rec int64) (uint32, error) {
	nd := x.pl.nd()
	if fileVar < nd*mapVars && fileVar%mapVars < mapOffsets {
		d, m := fileVar/mapVars, fileVar%mapVars
		crc := uint32(0)
		var b [8]byte
		for i := range x.t.id {
			k, n := i*nd+d, 8
			switch m {
			case mapNreqs:
				n = 4
				binary.LittleEndian.PutUint32(b[:], uint32(x.t.nreqs[k]))
			case mapStart:
				binary.LittleEndian.PutUint64(b[:], uint64(x.t.start[k]))
			default:
				binary.LittleEndian.PutUint64(b[:], uint64(x.t.count[k]))
			}
			crc = crc32.Update(crc, crc32.IEEETable, b[:n])
		}
		return crc, nil
	}
	var join crccat.Joiner
	crc := uint32(0)
	for i := range x.t.id {
		var first, n int64
		if fileVar < nd*mapVars {
			first, n, _ = x.list(fileVar/mapVars, fileVar%mapVars-mapOffsets, i)
		} else {
			first, n, _ = x.piece(fileVar-nd*mapVars, rec, i)
		}
		for k := first; n > 0; k++ {
			c := min(n, x.chunk)
			if x.ents[k].form == formNone {
				return 0, fmt.Errorf("blob %d was not all written", x.t.id[i])
			}
			crc = join.Cat(crc, x.ents[k].content, c)
			n -= c
		}
	}
	return crc, nil
}

// packedAtt is the attribute that tells that a header is of a compressed subfile.
func packedAtt(chunk int64) cdf5.Att {
	return cdf5.Att{Name: attPacked, Type: cdf5.Int, Value: []int32{packedVersion, int32(chunk)}}
}

// all calls f for each piece of all blobs, in the order of the entries, as long as it returns true. v is the
// index of the variable in the header, rec its record in this file.
func (x *packIndex) all(f func(v int, rec int64, i int, first, n int64) bool) {
	for d := range x.pl.nd() {
		for w := range 2 {
			for i := range x.t.id {
				if first, n, _ := x.list(d, w, i); n > 0 && !f(d*mapVars+mapOffsets+w, 0, i, first, n) {
					return
				}
			}
		}
	}
	for v := range x.pl.vars {
		recs := int64(1)
		if x.pl.vars[v].record {
			recs = x.pl.records
		}
		if x.step[v] == 0 {
			continue
		}
		for rec := range recs {
			for i := range x.t.id {
				if first, n, _ := x.piece(v, rec, i); n > 0 && !f(x.pl.fileVar(v), rec, i, first, n) {
					return
				}
			}
		}
	}
}

// name says what a piece is.
func (x *packIndex) name(v int, rec int64, i int) string {
	s := fmt.Sprintf("variable %q", x.pl.hdr.Vars[v].Name)
	if x.pl.hdr.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s + fmt.Sprintf(" of blob %d", x.t.id[i])
}
