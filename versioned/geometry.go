package versioned

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// geometry describes one generation of an array. The capacity is divided into equal segments of whole chunks, one for each rank.
// Each reallocation or open of an array begins a new generation.
type geometry struct {
	ID       int   `json:"id"`
	Capacity int64 `json:"capacity"` // in elements
	Seg      int64 `json:"segment"`  // number of elements of a segment, in whole chunks; the last segments may be empty
	Segs     int   `json:"segments"`

	// Order is the byte order of the elements, if it differs from the byte order in the record. It differs if another machine has
	// opened the array.
	Order string `json:"byte_order,omitempty"`
}

// hostOrder returns the byte order of this machine as it appears in a record.
func hostOrder() string {
	if elem.HostBig {
		return "big"
	}
	return "little"
}

func newGeometry(id int, capacity int64, segs int, chunkElems int64) geometry {
	chunks := (capacity + chunkElems - 1) / chunkElems
	per := max((chunks+int64(segs)-1)/int64(segs), 1)
	return geometry{ID: id, Capacity: capacity, Seg: per * chunkElems, Segs: segs}
}

// check refuses an invalid geometry.
func (g *geometry) check(s *Spec) error {
	if g.Seg/s.chunkElems() > maxSegChunks {
		return fault.Usage("array %s: %d elements on %d ranks need more than %d chunks of %d bytes per rank: use larger chunks", s.Name, g.Capacity, g.Segs, maxSegChunks, s.Chunk)
	}
	return nil
}

// segLen returns the capacity of segment s in elements.
func (g *geometry) segLen(s int) int64 {
	return min(max(g.Capacity-int64(s)*g.Seg, 0), g.Seg)
}

// pieces cuts a run of elements at segment borders and calls f for each piece: with the segment, the first element in the
// segment, the length, and the offset in the run.
func (g *geometry) pieces(off, n int64, f func(seg int, at, n, pos int64) error) error {
	pos := int64(0)
	for n > 0 {
		s := off / g.Seg
		at := off - s*g.Seg
		k := min(n, g.Seg-at)
		if err := f(int(s), at, k, pos); err != nil {
			return err
		}
		off, n, pos = off+k, n-k, pos+k
	}
	return nil
}

// runs calls f for each run of consecutive elements in the box [lo, hi), in row-major order: with the run's first element in the
// flattened array, its length, and its first element in the flattened box. It stops at the first error.
func runs(shape, lo, hi []int64, f func(off, n, at int64) error) error {
	nd := len(shape)
	// After dimension k the box covers complete dimensions, which form one run.
	k := nd - 1
	n := hi[k] - lo[k]
	for k > 0 && lo[k] == 0 && hi[k] == shape[k] {
		k--
		n *= hi[k] - lo[k]
	}
	if n == 0 {
		return nil
	}
	stride := [maxDims]int64{}
	s := int64(1)
	for d := nd - 1; d >= 0; d-- {
		stride[d] = s
		s *= shape[d]
	}
	idx := [maxDims]int64{}
	off := int64(0)
	for d := range nd {
		if lo[d] >= hi[d] {
			return nil
		}
		idx[d] = lo[d]
		off += lo[d] * stride[d]
	}
	at := int64(0)
	for {
		if err := f(off, n, at); err != nil {
			return err
		}
		at += n
		d := k - 1
		for ; d >= 0; d-- {
			idx[d]++
			off += stride[d]
			if idx[d] < hi[d] {
				break
			}
			off -= (hi[d] - lo[d]) * stride[d]
			idx[d] = lo[d]
		}
		if d < 0 {
			return nil
		}
	}
}

func checkBox(name string, shape, lo, hi []int64, have int64) error {
	if len(lo) != len(shape) || len(hi) != len(shape) {
		return fault.Usage("array %s: ends of the range have %d and %d dimensions, want %d", name, len(lo), len(hi), len(shape))
	}
	n := int64(1)
	for d := range shape {
		if lo[d] < 0 || hi[d] < lo[d] || hi[d] > shape[d] {
			return fmt.Errorf("array %s: dimension %d: range [%d, %d) exceeds the length %d: %w", name, d, lo[d], hi[d], shape[d], fault.ErrRange)
		}
		n *= hi[d] - lo[d]
	}
	if n != have {
		return fault.Usage("array %s: buffer has %d elements, want %d as in the range", name, have, n)
	}
	return nil
}

// entryLen is the length of an entry of a table. For segment s, variable 2s of the file has the table, and variable 2s+1 has the
// stored chunks. An entry, little-endian:
//
//	off len
//	  0   8 chunk     number in the segment
//	  8   8 since     first version with this content
//	 16   8 off       offset of the stored bytes in variable 2s+1
//	 24   8 stored    number of stored bytes; the chunk's length if it is neither compressed nor encrypted
//	 32  16 digest    XXH3-128 of the chunk, high word first
const entryLen = 48

type digest = xxh3.Uint128

func hashChunk(b []byte) digest { return xxh3.Hash128(b) }

// entry locates the content that a chunk has from version since on.
type entry struct {
	chunk, since, off, stored int64
	sum                       digest
}

func appendEntry(b []byte, e entry) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.chunk))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.since))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.off))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.stored))
	b = binary.BigEndian.AppendUint64(b, e.sum.Hi)
	return binary.BigEndian.AppendUint64(b, e.sum.Lo)
}

// decodeTable decodes a table and checks it against the segment and the size of the stored chunks.
func decodeTable(b []byte, name string, seg int, chunks, data, born int64) ([]entry, error) {
	if len(b)%entryLen != 0 {
		return nil, fault.At(name, -1, "table", ErrCorrupt, "%d bytes of segment %d, want a multiple of %d", len(b), seg, entryLen)
	}
	out := make([]entry, len(b)/entryLen)
	for i := range out {
		p := b[i*entryLen:]
		u := func(at int) int64 { return int64(binary.LittleEndian.Uint64(p[at:])) }
		e := entry{chunk: u(0), since: u(8), off: u(16), stored: u(24),
			sum: digest{Hi: binary.BigEndian.Uint64(p[32:]), Lo: binary.BigEndian.Uint64(p[40:])}}
		if e.chunk < 0 || e.chunk >= chunks || e.since < 0 || e.since > born || e.stored < 0 || e.off < 0 || e.off > data || e.stored > data-e.off {
			return nil, fault.At(name, -1, "table", ErrCorrupt, "entry %d of segment %d: chunk %d of %d since version %d (file of %d), bytes %d+%d of %d",
				i, seg, e.chunk, chunks, e.since, born, e.off, e.stored, data)
		}
		out[i] = e
	}
	return out, nil
}

type fileEntry struct {
	entry
	file int32 // id of the file in the catalog
}

// segIndex finds the content of a segment's chunks in any version.
type segIndex struct {
	chunks [][]fileEntry // by chunk, ascending by since

	err  error      // error of an unreadable table; the index may then be used only if holds returns nil
	lost []lostFile // the files with unreadable tables
}

// lostFile is a file with an unreadable table. It may have chunks of versions from ... born.
type lostFile struct {
	from, born int64
	err        error
}

// holds returns an error if the index may be incomplete for the chunks lo ... hi of a version. The entry of a chunk is right if
// it is newer than every lost file that may have chunks of this version.
func (x *segIndex) holds(version, lo, hi int64) error {
	for _, l := range x.lost {
		for k := lo; k <= hi && l.from <= version; k++ {
			if p, ok := x.find(k, version); !ok || p.since <= l.born {
				return l.err
			}
		}
	}
	return nil
}

func newSegIndex(chunks int64) *segIndex { return &segIndex{chunks: make([][]fileEntry, chunks)} }

func (x *segIndex) add(file int32, es []entry) {
	for _, e := range es {
		l := x.chunks[e.chunk]
		i, same := slices.BinarySearchFunc(l, e.since, func(p fileEntry, v int64) int { return cmp.Compare(p.since, v) })
		if p := (fileEntry{e, file}); same {
			l[i] = p // clean has moved this entry to another file
		} else {
			l = slices.Insert(l, i, p)
		}
		x.chunks[e.chunk] = l
	}
}

// find returns the entry of a chunk in a version. If the result is false, the chunk is zeros.
func (x *segIndex) find(chunk, version int64) (fileEntry, bool) {
	l := x.chunks[chunk]
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].since <= version {
			return l[i], true
		}
	}
	return fileEntry{}, false
}

// visible reports whether one of the versions is in [since, until). versions is ascending.
func visible(versions []int64, since, until int64) bool {
	k, _ := slices.BinarySearch(versions, since)
	return k < len(versions) && versions[k] < until
}

// until returns the version at which entry i of a list stops being valid.
func until(l []fileEntry, i int) int64 {
	if i+1 < len(l) {
		return l[i+1].since
	}
	return math.MaxInt64
}

// prune drops the entries that none of the versions needs. versions is ascending.
func (x *segIndex) prune(versions []int64) {
	for c, l := range x.chunks {
		if len(l) == 0 || len(l) == 1 && visible(versions, l[0].since, math.MaxInt64) {
			continue
		}
		keep := l[:0] // entries are moved down in place, never beyond i
		for i, p := range l {
			if visible(versions, p.since, until(l, i)) {
				keep = append(keep, p)
			}
		}
		x.chunks[c] = keep
	}
}

// live calls f for each entry that one of the versions needs. It assumes that the chunks in dirty, ascending, get new content in
// version number.
func (x *segIndex) live(versions []int64, dirty []int64, number int64, f func(p fileEntry)) {
	for c, l := range x.chunks {
		for i, p := range l {
			end := until(l, i)
			if end == math.MaxInt64 {
				if _, ok := slices.BinarySearch(dirty, int64(c)); ok {
					end = number
				}
			}
			if visible(versions, p.since, end) {
				f(p)
			}
		}
	}
}
