package read

import (
	"blobio/blob/internal/dataset"
	"sort"
)

// A canonical file is decoded and kept in blocks. A block is all of a variable's record where that is not too long, since its checksums can
// then be compared on the way; a part of it where it is; and several variables or records where they are short, since of each rank those are
// read at once.

// stride is a run of blocks of the same length, the last of which may be shorter.
type stride struct{ from, to, step int64 }

// blocks divides a canonical file.
type blocks struct {
	fixed  []stride // up to the first record
	record []stride // of the first record; nil if blocks hold several records
	begin  int64    // of the records
	period int64    // of the records of one block, or of one record
	size   int64    // of the file
}

// divide returns the blocks of a file, for a cache of so many bytes.
func (c *CanonicalFile) divide(memory int64) blocks {
	whole, some := memory/4, memory/8
	b := blocks{begin: c.Length, period: c.period, size: c.Length}
	if c.begin >= 0 && c.Records > 0 {
		b.begin = c.begin
	}
	b.fixed = c.strides(c.fixed, 0, b.begin, whole, some)
	switch {
	case b.begin == c.Length:
	case c.period <= some:
		b.period = some / c.period * c.period
	default:
		b.record = c.strides(c.recs, b.begin, b.begin+c.period, whole, some)
	}
	return b
}

// strides divides what lies between from and to, of the variables of a list.
func (c *CanonicalFile) strides(list []dataset.VarID, from, to, whole, some int64) (out []stride) {
	cut := func(end int64) {
		if end > from {
			out = append(out, stride{from, end, end - from})
			from = end
		}
	}
	for k, v := range list {
		begin, end := c.hdr.Vars[v].Begin, to
		if k+1 < len(list) {
			end = c.hdr.Vars[list[k+1]].Begin
		}
		if end-from <= some {
			continue // with what is before it
		}
		cut(begin)
		if end-begin > whole {
			out = append(out, stride{begin, end, some &^ 7}) // elements are never cut
			from = end
		} else if end-begin > some {
			cut(end)
		}
	}
	cut(to)
	return out
}

// At returns the block of byte off.
func (b *blocks) At(off int64) (from, to int64) {
	list, base := b.fixed, int64(0)
	if off >= b.begin {
		base = (off - b.begin) / b.period * b.period
		if b.record == nil {
			return b.begin + base, min(b.begin+base+b.period, b.size)
		}
		list = b.record
	}
	off -= base
	s := list[sort.Search(len(list), func(i int) bool { return list[i].to > off })]
	from = s.from + (off-s.from)/s.step*s.step
	return base + from, base + min(from+s.step, s.to)
}
