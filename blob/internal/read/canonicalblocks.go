package read

import (
	"sort"

	"blobio/blob/internal/dataset"
)

// A canonical file is decoded and cached in blocks. A block is a whole record of a variable if this is not too long, because its
// checksums can then be compared in the same pass. A long record is several blocks. Short records or variables share a block,
// because the data of a rank are read at once.

// stride is a sequence of blocks of the same length; the last one may be shorter.
type stride struct{ from, to, step int64 }

// blocks is the division of a canonical file into blocks.
type blocks struct {
	fixed  []stride // up to the first record
	record []stride // of the first record; nil if blocks hold several records
	begin  int64    // offset of the records
	period int64    // bytes of the records of one block, or of one record
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

// strides divides the range from, to of the variables of a list.
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
			continue // joined with the previous one
		}
		cut(begin)
		if end-begin > whole {
			out = append(out, stride{begin, end, some &^ 7}) // blocks never cut elements
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

// Costs are in bytes: a read costs as much as reading this number of bytes sequentially.

// cost returns the maximum cost of a read of [off, end) without the cache.
func (c *CanonicalFile) cost(off, end int64) (sum int64) {
	for off < end {
		s := c.stretch(off)
		n := min(end, s.off+s.n) - off
		if s.v >= 0 {
			sv := &c.Schema.Vars[s.v]
			sum += n + c.call()
			elems := n / int64(sv.Type.Size())
			if c.decomposed(s.v) { // at worst each element has another owner
				sum += elems * c.call()
			}
			sum += c.proving(s.v, max(elems, 1), s.n)
		}
		off += n
	}
	return sum
}

// proving returns the cost of comparing the pieces that contain some elements of a variable's record of this length. At worst
// each element is in another piece, and each piece is read whole. Only the result of the comparison is kept.
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
	for off := from; off < to; { // costs of one variable: several variables of a rank are read at once
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

// call returns the cost of one read beside its bytes.
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

// firstHeader returns the first loaded header, nil if there is none.
func (s *Set) firstHeader() *dataset.Place {
	for _, p := range s.Parts {
		if h := p.header(); h != nil {
			return h
		}
	}
	return nil
}
