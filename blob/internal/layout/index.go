package layout

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"

	"blobio/cdf5"
	"blobio/internal/base/codec"
	"blobio/internal/base/crccat"
)

// Names of the datasets of a compressed process-centric subfile. They differ from the names in an uncompressed subfile, so that
// no reader mistakes one kind for the other.
const (
	HeaderPacked = "header_zblob"
	DataPacked   = "data_zblob"
	IndexPacked  = "index_zblob"
)

// AttPacked is the global attribute that marks a compressed subfile. Its values are the version and the length of a chunk in
// bytes.
const (
	AttPacked     = "blobio_compression"
	PackedVersion = 1
)

// A piece is one blob's part of a variable's record or of a map's list. It is compressed in chunks of this many bytes; the last
// chunk may be shorter.
const (
	DefaultChunk = 256 << 10
	MaxChunk     = 16 << 20
)

// The index is little endian. It has a head, the table of the blobs, and the entries of all chunks.
const (
	IndexMagic    = "blobzidx"
	IndexHead     = 32 // magic, version 4, chunk 4, entries 8, crc of everything after the head 4, crc of the first 28 bytes 4
	indexRow      = 20 // for each blob and map: nreqs 4, blob_start 8, blob_count 8
	IndexEntryLen = 24 // offset in data_zblob 8, stored bytes 4, form 1, zeros 3, crc of stored bytes 4, crc of content 4
)

// Forms of a chunk.
const (
	FormNone  = iota // never written
	FormRaw          // uncompressed
	FormZstd         // a zstd frame
	FormPlane        // a zstd frame of the shuffled bytes
	FormCount
)

var FormNames = [FormCount]string{"", "none", "zstd", "shuffle+zstd"}

// Packed describes a compressed subfile. DataOff and DataLen of its Place describe data_blob in the equivalent uncompressed file,
// and all offsets refer to that file. Package unpack presents the compressed file in this form.
type Packed struct {
	Chunk    int64
	Stored   int64 // length of data_zblob
	IndexOff int64
	IndexLen int64
	Index    *Index // when reading: index of all blobs, set together with the table
	Memory   int64  // when reading: memory limit for lists of requests that are much longer than the file
}

// Entry describes one chunk.
type Entry struct {
	Off     int64 // offset in data_zblob
	Stored  uint32
	Form    uint8
	Sum     uint32 // checksum of the stored bytes
	Content uint32 // checksum of the content
}

func (e *Entry) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Off))
	b = binary.LittleEndian.AppendUint32(b, e.Stored)
	b = append(b, e.Form, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, e.Sum)
	return binary.LittleEndian.AppendUint32(b, e.Content)
}

func ParseEntry(b []byte) (e Entry, zeros bool) {
	le := binary.LittleEndian
	return Entry{Off: int64(le.Uint64(b)), Stored: le.Uint32(b[8:]), Form: b[12], Sum: le.Uint32(b[16:]), Content: le.Uint32(b[20:])},
		b[13]|b[14]|b[15] == 0
}

// Fault describes what is wrong with an entry whose chunk has n bytes of content. A valid entry gives "".
func (e *Entry) Fault(n, stored int64) string {
	switch {
	case e.Form == FormNone || e.Form >= FormCount:
		return fmt.Sprintf("form %d, want 1 to %d", e.Form, FormCount-1)
	case e.Off < 0 || int64(e.Stored) > stored || e.Off > stored-int64(e.Stored):
		return fmt.Sprintf("%d bytes at offset %d, but %s has only %d bytes", e.Stored, e.Off, DataPacked, stored)
	case e.Form == FormRaw && int64(e.Stored) != n:
		return fmt.Sprintf("the uncompressed chunk has %d bytes, want %d", e.Stored, n)
	case int64(e.Stored) > n || n > int64(e.Stored)*codec.MaxExpansion:
		return fmt.Sprintf("%d stored bytes do not fit %d bytes of content", e.Stored, n)
	}
	return ""
}

// Index finds the entries of a piece. Entries are ordered by list (D1.offsets, D1.lengths, D2...) or variable and record, then by
// blob. The lists of the maps come before the variables of the header.
type Index struct {
	Place   *Place
	Table   *Ranks
	Chunk   int64
	cum     [][]int64 // by class: number of chunks in earlier blobs; nil if no variable is of that class
	lists   []int64   // by map and list: the first entry of the list
	vars    []int64   // by variable: the first entry of the variable
	step    []int64   // by variable: number of entries of a record
	Total   int64
	Entries []Entry // set while writing
}

// Pieces of the same class have equal lengths in each blob. The classes of each map are elements of 1, 2, 4 and 8 bytes, offsets,
// and lengths.
const packClasses = 6

func sizeClass(d int, size int64) int {
	k := 0
	for s := int64(1); s < size; s *= 2 {
		k++
	}
	return d*packClasses + k
}

func chunksOf(n, chunk int64) int64 { return n/chunk + (n%chunk+chunk-1)/chunk }

func NewIndex(pl *Place, t *Ranks, chunk int64) (*Index, error) {
	nd := pl.Header.Maps
	x := &Index{Place: pl, Table: t, Chunk: chunk, cum: make([][]int64, nd*packClasses), lists: make([]int64, 2*nd)}
	class := func(c int, bytes func(i int) int64) int64 {
		if x.cum[c] == nil {
			l := make([]int64, len(t.ID)+1)
			for i := range t.ID {
				l[i+1] = l[i] + chunksOf(bytes(i), chunk)
			}
			x.cum[c] = l
		}
		return x.cum[c][len(t.ID)]
	}
	for d := range nd {
		for w := range 2 {
			size := x.listSize(d, w)
			x.lists[2*d+w] = x.Total
			x.Total += class(d*packClasses+4+w, func(i int) int64 { return size * t.Nreqs[i*nd+d] })
		}
	}
	for v := range pl.Vars {
		sv := &pl.Vars[v]
		size, recs := sv.Size, int64(1)
		if sv.Record {
			recs = pl.Blob.Records
		}
		n := int64(0)
		if d := sv.Decomp - 1; d >= 0 {
			n = class(sizeClass(d, size), func(i int) int64 { return size * t.Count[i*nd+d] })
		} else if len(t.ID) > 0 && t.ID[0] == 0 {
			n = chunksOf(sv.Elems*size, chunk)
		}
		x.vars, x.step = append(x.vars, x.Total), append(x.step, n)
		if n > 0 && recs > (math.MaxInt64/IndexEntryLen/2-x.Total)/n {
			return nil, fmt.Errorf("%d records of variable %q need too many entries", recs, pl.Header.Vars[pl.Header.FileVar(v)].Name)
		}
		x.Total += n * recs
	}
	return x, nil
}

// listSize returns the size of an element of a list: of offsets if w is 0, of lengths if w is 1.
func (x *Index) listSize(d, w int) int64 {
	if w == 0 {
		return x.Place.Shape.OffsetSize(d)
	}
	return 4
}

// List returns the first entry of blob i's list, the length of the list in bytes, and the size of its elements.
func (x *Index) List(d, w, i int) (first, n, size int64) {
	size = x.listSize(d, w)
	return x.lists[2*d+w] + x.cum[d*packClasses+4+w][i], size * x.Table.Nreqs[i*x.Place.Header.Maps+d], size
}

// Piece returns the first entry of blob i's part of a variable's record, the length of the part in bytes, and the size of an
// element. rec counts from the first record of the file.
func (x *Index) Piece(v int, rec int64, i int) (first, n, size int64) {
	sv := &x.Place.Vars[v]
	size = sv.Size
	first = x.vars[v] + rec*x.step[v]
	if d := sv.Decomp - 1; d >= 0 {
		return first + x.cum[sizeClass(d, size)][i], size * x.Table.Count[i*x.Place.Header.Maps+d], size
	}
	if x.Table.ID[i] == 0 {
		n = sv.Elems * size
	}
	return first, n, size
}

// Of is List or Piece for variable v of the header, which must not be a number of a map.
func (x *Index) Of(v int, rec int64, i int) (first, n, size int64) {
	if nmap := x.Place.Header.Maps * MapVars; v >= nmap {
		return x.Piece(v-nmap, rec, i)
	}
	return x.List(v/MapVars, v%MapVars-MapOffsets, i)
}

// Pieces yields the variables of the header that have entries, with their records in this file, in the order of the entries.
func (x *Index) Pieces() iter.Seq2[int, int64] {
	return func(yield func(v int, rec int64) bool) {
		nmap := x.Place.Header.Maps * MapVars
		for v := range nmap + len(x.Place.Vars) {
			recs := int64(1)
			switch {
			case v < nmap && v%MapVars < MapOffsets, v >= nmap && x.step[v-nmap] == 0:
				continue
			case v >= nmap && x.Place.Vars[v-nmap].Record:
				recs = x.Place.Blob.Records
			}
			for rec := range recs {
				if !yield(v, rec) {
					return
				}
			}
		}
	}
}

// TableLen returns the length of the table of the blobs in the index.
func (p *Place) TableLen() int64 { return indexRow * int64(p.Header.Maps) * int64(p.Shape.Blobs) }

// TableAt returns the offset in the index of variable m of map d for blob j.
func (p *Place) TableAt(d, m, j int) int64 {
	return p.Packed.IndexOff + IndexHead + indexRow*(int64(j)*int64(p.Header.Maps)+int64(d)) + [...]int64{MapNreqs: 0, MapStart: 4, MapCount: 12}[m]
}

// Encode returns the index of all blobs in the format of the file.
func (x *Index) Encode() []byte {
	le := binary.LittleEndian
	nd := x.Place.Header.Maps
	b := make([]byte, IndexHead, IndexHead+int64(len(x.Table.ID)*nd)*indexRow+x.Total*IndexEntryLen)
	for i := range x.Table.ID {
		for k := i * nd; k < (i+1)*nd; k++ {
			b = le.AppendUint32(b, uint32(x.Table.Nreqs[k]))
			b = le.AppendUint64(b, uint64(x.Table.Start[k]))
			b = le.AppendUint64(b, uint64(x.Table.Count[k]))
		}
	}
	for k := range x.Entries {
		b = x.Entries[k].Append(b)
	}
	copy(b, IndexMagic)
	le.PutUint32(b[8:], PackedVersion)
	le.PutUint32(b[12:], uint32(x.Chunk))
	le.PutUint64(b[16:], uint64(x.Total))
	le.PutUint32(b[24:], crc32.ChecksumIEEE(b[IndexHead:]))
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	return b
}

// Sum returns the checksum of a header variable's record over all blobs in order. The manifest has the same checksum.
func (x *Index) Sum(fileVar int, rec int64) (uint32, error) {
	nd := x.Place.Header.Maps
	if fileVar < nd*MapVars && fileVar%MapVars < MapOffsets {
		d, m := fileVar/MapVars, fileVar%MapVars
		crc := uint32(0)
		var b [8]byte
		for i := range x.Table.ID {
			k, n := i*nd+d, 8
			switch m {
			case MapNreqs:
				n = 4
				binary.LittleEndian.PutUint32(b[:], uint32(x.Table.Nreqs[k]))
			case MapStart:
				binary.LittleEndian.PutUint64(b[:], uint64(x.Table.Start[k]))
			default:
				binary.LittleEndian.PutUint64(b[:], uint64(x.Table.Count[k]))
			}
			crc = crc32.Update(crc, crc32.IEEETable, b[:n])
		}
		return crc, nil
	}
	var join crccat.Joiner
	crc := uint32(0)
	for i := range x.Table.ID {
		first, n, _ := x.Of(fileVar, rec, i)
		for k := first; n > 0; k++ {
			c := min(n, x.Chunk)
			if x.Entries[k].Form == FormNone {
				return 0, fmt.Errorf("blob %d is incomplete", x.Table.ID[i])
			}
			crc = join.Cat(crc, x.Entries[k].Content, c)
			n -= c
		}
	}
	return crc, nil
}

// PackedAtt returns the attribute that marks the header of a compressed subfile.
func PackedAtt(chunk int64) cdf5.Att {
	return cdf5.Att{Name: AttPacked, Type: cdf5.Int, Value: []int32{PackedVersion, int32(chunk)}}
}

// All calls f for each piece of all blobs, in the order of the entries, until f returns false. v is the index of the variable in
// the header, and rec counts from the first record of the file.
func (x *Index) All(f func(v int, rec int64, i int, first, n int64) bool) {
	for v, rec := range x.Pieces() {
		for i := range x.Table.ID {
			if first, n, _ := x.Of(v, rec, i); n > 0 && !f(v, rec, i, first, n) {
				return
			}
		}
	}
}

// Name returns the name of a piece for errors.
func (x *Index) Name(v int, rec int64, i int) string {
	s := fmt.Sprintf("variable %q", x.Place.Header.Vars[v].Name)
	if x.Place.Header.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s + fmt.Sprintf(" of blob %d", x.Table.ID[i])
}
