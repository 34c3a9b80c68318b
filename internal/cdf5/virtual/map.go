package virtual

import (
	"sort"

	"blobio/cdf5"
)

// Map finds the variable at an offset of a file. It is immutable.
type Map struct {
	h       *cdf5.Header
	at      *cdf5.Places
	head    int64
	size    int64
	fixed   []int // variables by offset
	records []int // variables by offset in a record
	begin   int64 // offset of the first record, or the end of the file
	period  int64
}

// NewMap returns the map of a file. The header must be laid out, take head bytes, and have the number of records.
func NewMap(h *cdf5.Header, head int64) *Map {
	m := &Map{h: h, at: h.Places(), head: head, size: h.FileSize(h.NumRecs), begin: h.FirstRecord()}
	m.period = m.at.RecSize()
	for v := range h.Vars {
		if h.IsRecord(v) {
			m.records = append(m.records, v)
		} else {
			m.fixed = append(m.fixed, v)
		}
	}
	if m.begin < 0 || h.NumRecs == 0 {
		m.begin = m.size
	}
	return m
}

// Size returns the size of the file in bytes.
func (m *Map) Size() int64 { return m.size }

// Stretch is a range of bytes of a file: header or padding (Var is -1), or one record of a variable.
type Stretch struct {
	Var    int
	Record int64
	Off, N int64 // bytes in the file
	Head   bool
}

// At returns the Stretch at byte off, which must be in the file.
func (m *Map) At(off int64) Stretch {
	if off < m.head {
		return Stretch{Var: -1, N: m.head, Head: true}
	}
	list, rec, base, next := m.fixed, int64(0), int64(0), m.begin // base and next: start of this record and of the data after it
	if off >= m.begin {
		list, rec, next = m.records, min((off-m.begin)/m.period, m.h.NumRecs-1), m.size
		if base = rec * m.period; rec+1 < m.h.NumRecs {
			next = m.begin + base + m.period
		}
	}
	i := sort.Search(len(list), func(i int) bool { return m.h.Vars[list[i]].Begin+base > off })
	if i < len(list) {
		next = m.h.Vars[list[i]].Begin + base
	}
	if i > 0 {
		if begin, n := m.at.Extent(list[i-1], rec); off < begin+n {
			return Stretch{Var: list[i-1], Record: rec, Off: begin, N: n}
		}
	}
	return Stretch{Var: -1, Off: off, N: next - off}
}
