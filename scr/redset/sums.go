package redset

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"blobio/internal/base/crccat"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// extent is a range of bytes of a logical file that lies in one file and in one element. Each extent of data has a checksum.
type extent struct {
	part int   // number of the file
	off  int64 // offset in the logical file, in bytes
	n    int64
}

// extents divides the logical file of a member into extents. sizes are the sizes of its files. An empty file has one empty
// extent, so that each file has at least one.
func (l *layout) extents(sizes []int64) []extent {
	var es []extent
	off := int64(0)
	for i, size := range sizes {
		if size == 0 {
			es = append(es, extent{i, off, 0})
		}
		for end := off + size; off < end; {
			n := end - off
			if l.chunked() {
				n = min(n, (off/l.chunk+1)*l.chunk-off)
			}
			es = append(es, extent{i, off, n})
			off += n
		}
	}
	return es
}

// inElem returns the member and the range [lo, hi) of its extents that element e of stripe c contains. If e is a copy, the member
// is the owner of the data. ok is false for parity, which has a checksum of its own.
func (l *layout) inElem(ext [][]extent, c int, e elem) (member, lo, hi int, ok bool) {
	if !l.chunked() {
		p := l.files[c]
		return p.member, p.file, p.file + 1, true
	}
	if e.parity {
		return e.member, 0, 0, false
	}
	x := ext[e.member]
	for lo < len(x) && (x[lo].off < e.off || x[lo].n == 0) {
		lo++
	}
	hi = lo
	for hi < len(x) && x[hi].off < e.off+l.chunk {
		hi++
	}
	return e.member, lo, hi, true
}

// summer computes the checksums of consecutive ranges. It gets the bytes in order, and may begin in the middle.
type summer struct {
	ends []int64 // ends of the ranges, ascending, as offsets in the stripe
	at   int     // index of the range that contains the next byte
	crc  []uint32
	n    []int64 // number of bytes of each range that were added
}

// newSummer returns the summer of an element of stripe c.
func (l *layout) newSummer(ext [][]extent, c int, e elem) *summer {
	s := &summer{}
	if m, lo, hi, ok := l.inElem(ext, c, e); ok {
		base := e.off
		if !l.chunked() {
			base = l.files[c].off
		}
		for _, x := range ext[m][lo:hi] {
			s.ends = append(s.ends, x.off+x.n-base)
		}
	} else {
		s.ends = []int64{l.length(c)}
	}
	s.crc, s.n = make([]uint32, len(s.ends)), make([]int64, len(s.ends))
	return s
}

// add adds the bytes [off, off+len(b)) of the stripe. Bytes after the last range are padding and are ignored.
func (s *summer) add(b []byte, off int64) {
	for ; len(b) > 0; s.at++ {
		for s.at < len(s.ends) && s.ends[s.at] <= off {
			s.at++
		}
		if s.at == len(s.ends) {
			return
		}
		n := min(int64(len(b)), s.ends[s.at]-off)
		s.crc[s.at] = crc32.Update(s.crc[s.at], crc32.IEEETable, b[:n])
		s.n[s.at] += n
		b, off = b[n:], off+n
		if off < s.ends[s.at] {
			return
		}
	}
}

// join appends the checksums of t. The bytes of t follow the bytes of s.
func (s *summer) join(t *summer) {
	for i := range s.crc {
		if t.n[i] > 0 {
			s.crc[i] = crccat.Cat(s.crc[i], t.crc[i], t.n[i])
			s.n[i] += t.n[i]
		}
	}
}

// whole returns the checksum of the first n bytes of the stripe. The bytes after the ranges are zeros.
func (s *summer) whole(n int64) uint32 {
	crc, at := uint32(0), int64(0)
	for i, end := range s.ends {
		crc, at = crccat.Cat(crc, s.crc[i], end-at), end
	}
	return crccat.Cat(crc, crccat.Zeros(n-at), n-at)
}

// xorSum returns the checksum of the XOR of elements of n bytes. It needs only the checksums of the elements, because a CRC is
// linear except for a constant that depends on n.
func xorSum(in []*summer, n int64) uint32 {
	zero := crccat.Zeros(n)
	sum := zero
	for _, s := range in {
		sum ^= s.whole(n) ^ zero
	}
	return sum
}

// memberSums holds the checksums of a member's bytes.
type memberSums struct {
	header uint32   // checksum of the member's header; shows to which encode the checksums belong
	data   []uint32 // by extent
	rows   []uint32 // checksum of each row of parity, for XOR and RS; a copy has the checksum of its original
}

// newSums returns checksums that are all 0. For empty extents they are right.
func (l *layout) newSums(ext []extent) *memberSums {
	s := &memberSums{data: make([]uint32, len(ext))}
	if l.chunked() {
		s.rows = make([]uint32, l.k)
	}
	return s
}

// ofElem returns the stored checksums of an element of stripe c, or nil if they are unknown.
func (l *layout) ofElem(all []*memberSums, ext [][]extent, c int, e elem) []uint32 {
	m, lo, hi, ok := l.inElem(ext, c, e)
	switch {
	case all[m] == nil:
		return nil
	case ok:
		return all[m].data[lo:hi]
	}
	return all[m].rows[e.col : e.col+1]
}

// encodeSums makes the checksum file of member m. It contains the checksums of m and of its left neighbours.
func encodeSums(l *layout, ext [][]extent, all []*memberSums, m int) ([]byte, error) {
	t := kvtree.New()
	put(t, 1, "VERSION")
	for _, m := range append(l.left(m), m) {
		s := all[m]
		if s == nil {
			continue
		}
		mt := t.Touch("MEMBER", strconv.Itoa(m))
		putCRC(mt, s.header, "HEADER")
		part, last := 0, -1
		for x, e := range ext[m] {
			if e.part != last {
				part, last = 0, e.part
			}
			putCRC(mt, s.data[x], "FILE", strconv.Itoa(e.part), "CRC", strconv.Itoa(part))
			part++
		}
		for i, crc := range s.rows {
			putCRC(mt, crc, "ROW", strconv.Itoa(i))
		}
	}
	return encodeTree(t)
}

// parseSums parses a checksum file. It returns one tree for each member. It does not read the checksums in the trees, because
// their number depends on the files; fill reads them.
func parseSums(name string, b []byte) (map[int]*kvtree.Tree, error) {
	t, _, err := decodeTree(name, b)
	if err != nil {
		return nil, err
	}
	if v, err := t.Value("VERSION").Str(); err != nil || v != "1" {
		return nil, formatErr(name, -1, "VERSION", fmt.Sprintf("%q, want 1", v), fault.ErrUnsupported)
	}
	v := map[int]*kvtree.Tree{}
	for key, mt := range t.At("MEMBER").All() {
		m, err := strconv.Atoi(key)
		if err != nil {
			return nil, formatErr(name, -1, "MEMBER", fmt.Sprintf("%q is not a number", key), fault.ErrCorrupt)
		}
		v[m] = mt
	}
	return v, nil
}

func (l *layout) fill(ext []extent, mt *kvtree.Tree) (*memberSums, error) {
	s := l.newSums(ext)
	r := reader{t: mt}
	s.header = r.crc("HEADER")
	n := map[int]int{}
	for x, e := range ext {
		r.t = mt.At("FILE", strconv.Itoa(e.part), "CRC")
		s.data[x] = r.crc(strconv.Itoa(n[e.part]))
		n[e.part]++
	}
	for part, k := range n {
		if mt.At("FILE", strconv.Itoa(part), "CRC").Len() != k {
			return nil, errors.New("the checksums belong to files with other sizes")
		}
	}
	r.t = mt.At("ROW")
	for i := range s.rows {
		s.rows[i] = r.crc(strconv.Itoa(i))
	}
	return s, r.err
}

// keep stores the checksums of an element in the checksums of its member, if the member has an entry in all.
func (l *layout) keep(all []*memberSums, ext [][]extent, c int, e elem, crc []uint32) {
	if e.parity && !l.chunked() {
		return // a copy
	}
	copy(l.ofElem(all, ext, c, e), crc)
}

// fileSums returns the checksum of each of n files, combined from the checksums of its extents.
func (s *memberSums) fileSums(ext []extent, n int) []uint32 {
	v := make([]uint32, n)
	for x, e := range ext {
		v[e.part] = crccat.Cat(v[e.part], s.data[x], e.n)
	}
	return v
}
