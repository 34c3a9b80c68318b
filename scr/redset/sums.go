package redset

import (
	"errors"
	"fmt"
	"strconv"

	"blobio/internal/base/crccat"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// memberSums are the checksums of what a member holds.
type memberSums struct {
	header uint32   // of its header record: sums of another encode are not of these files
	data   []uint32 // by extent
	rows   []uint32 // by row of parity; XOR, RS. The sums of copies are those of what they copy.
}

// newSums returns sums to be filled in. Extents of no bytes need none.
func (l *layout) newSums(ext []extent) *memberSums {
	s := &memberSums{data: make([]uint32, len(ext))}
	if l.chunked() {
		s.rows = make([]uint32, l.k)
	}
	return s
}

// ofElem returns the sums, in all, of what an element of stripe c holds; nil if unknown.
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

// encodeSums makes the file of checksums of a member: its own and those of its left neighbours.
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

// parseSums reads a file of checksums, by member. Only their headers are known then: which extents they are
// of depends on the files.
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
			return nil, formatErr(name, -1, "MEMBER", fmt.Sprintf("%q is not a number", key), ErrCorrupt)
		}
		v[m] = mt
	}
	return v, nil
}

// fill reads the sums of member m.
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
			return nil, errors.New("checksums of files of other sizes")
		}
	}
	r.t = mt.At("ROW")
	for i := range s.rows {
		s.rows[i] = r.crc(strconv.Itoa(i))
	}
	return s, r.err
}

// keep notes the sums of an element in those of the member that they are known of, if that is wanted.
func (l *layout) keep(all []*memberSums, ext [][]extent, c int, e elem, crc []uint32) {
	if e.parity && !l.chunked() {
		return // a copy
	}
	copy(l.ofElem(all, ext, c, e), crc)
}

// fileSums are the checksums of the n files from those of the extents.
func (s *memberSums) fileSums(ext []extent, n int) []uint32 {
	v := make([]uint32, n)
	for x, e := range ext {
		v[e.part] = crccat.Cat(v[e.part], s.data[x], e.n)
	}
	return v
}
