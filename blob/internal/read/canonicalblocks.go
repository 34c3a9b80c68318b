package read

import (
	"sort"

	"blobio/blob/internal/dataset"
)

// A canonical file is decoded and cached in blocks. A block is a whole record of a variable if the record is not too long,
// because its checksums can then be compared in the same pass. A long record has several blocks. Short records or variables
// share a block, because all data of a rank can be read at once.

// stride is a sequence of blocks of the same length. The last block may be shorter.
type stride struct{ from, to, step int64 }

// blocks is the division of a canonical file into blocks.
type blocks struct {
	fixed  []stride // blocks before the first record
	record []stride // blocks of the first record; nil if a block holds several records
	begin  int64    // offset of the records
	period int64    // length of the records in one block, or of one record, in bytes
	size   int64    // length of the file
}

// divide divides a file into blocks, for a cache of memory bytes.
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

// strides divides the file range [from, to), which holds the variables of a list.
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
			continue // joined with the next variable
		}
		cut(begin)
		if end-begin > whole {
			out = append(out, stride{begin, end, some &^ 7}) // blocks do not cut elements
			from = end
		} else if end-begin > some {
			cut(end)
		}
	}
	cut(to)
	return out
}

// At returns the block that contains byte off.
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

// Costs are in bytes. The cost of a read is the number of bytes that could be read sequentially in the same time.

// cost returns the maximum cost of a read of [off, end) without the cache.
func (c *CanonicalFile) cost(off, end int64) (sum int64) {
	for off < end {
		s := c.stretch(off)
		n := min(end, s.off+s.n) - off
		if s.v >= 0 {
			sv := &c.Schema.Vars[s.v]
			sum += n + c.call()
			elems := n / int64(sv.Type.Size())
			if c.decomposed(s.v) { // at worst each element has a different owner
				sum += elems * c.call()
			}
			sum += c.proving(s.v, max(elems, 1), s.n)
		}
		off += n
	}
	return sum
}

// proving returns the cost of comparing the checksums of the pieces that contain elems elements of a variable's record of bytes
// bytes. At worst each element is in a different piece, and each piece must be read whole.
func (c *CanonicalFile) proving(v dataset.VarID, elems, bytes int64) int64 {
	m := c.R.Files.Manifest
	if m == nil || m.Codec != "" || c.R.Files.Opt.Verify != VerifyOnce && c.R.Files.Opt.Verify != VerifyAlways {
		return 0
	}
	pieces := int64(1)
	if m.Piece > 0 {
		pieces = max((bytes+m.Piece-1)/m.Piece, 1)
	}
	calls := pieces
	if p := c.R.Data.Sets[0].firstHeader(); p != nil && p.ByRank && c.decomposed(v) {
		calls = max(int64(p.Shape.Ranks), pieces)
	}
	return min(elems, pieces) * (bytes/pieces + calls/pieces*c.call())
}

// blockCost returns the cost of decoding a block.
func (c *CanonicalFile) blockCost(from, to int64) int64 {
	call := int64(0)
	for off := from; off < to; { // one variable's cost is enough, because several variables of a rank are read at once
		s := c.stretch(off)
		if s.v >= 0 && c.decomposed(s.v) {
			call = c.call()
			break
		}
		off = s.off + s.n
	}
	if p := c.R.Data.Sets[0].firstHeader(); p != nil && p.ByRank {
		call *= int64(p.Shape.Ranks)
	}
	return to - from + call
}

// call returns the fixed cost of a read, without its bytes.
func (c *CanonicalFile) call() int64 {
	p := c.R.Data.Sets[0].firstHeader()
	switch {
	case p == nil:
		return 1
	case p.Packed != nil:
		return max(p.Packed.Chunk, 1)
	}
	return max(p.Gap(), 1)
}

// firstHeader returns the first loaded header, or nil.
func (s *Set) firstHeader() *dataset.Place {
	for _, p := range s.Parts {
		if h := p.header(); h != nil {
			return h
		}
	}
	return nil
}
