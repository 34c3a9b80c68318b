package read

import (
	"blobio/blob/internal/dataset"
)

// Costs are in bytes: a read counts as many as would rather be read and dropped.

// cost is what a read of [off, end) around the cache costs, at most.
func (c *CanonicalFile) cost(off, end int64) (sum int64) {
	for off < end {
		s := c.stretch(off)
		n := min(end, s.off+s.n) - off
		if s.v >= 0 {
			sv := &c.Schema.Vars[s.v]
			sum += n + c.call(s.v)
			elems := n / int64(sv.Type.Size())
			if c.decomposed(s.v) { // at worst each element has another owner
				sum += elems * c.call(s.v)
			}
			sum += c.proving(s.v, max(elems, 1), s.n)
		}
		off += n
	}
	return sum
}

// proving is what it costs to compare the pieces of which elements of a variable's record, which is so many bytes long, are: at worst each is of
// another piece, all of which is read. Nothing is kept of that but that they are right.
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
	return min(elems, pieces) * (bytes/pieces + calls/pieces*c.call(v))
}

// blockCost is what decoding a block costs.
func (c *CanonicalFile) blockCost(from, to int64) int64 {
	call := int64(0)
	for off := from; off < to; { // of one variable, since what a rank has of several is read at once
		s := c.stretch(off)
		if s.v >= 0 && c.decomposed(s.v) {
			call = c.call(s.v)
			break
		}
		off = s.off + s.n
	}
	if p := c.R.Data.Sets[0].firstHeader(); p != nil && p.ByRank {
		call *= int64(p.Shape.Ranks)
	}
	return to - from + call
}

// call is what one read costs beside its bytes.
func (c *CanonicalFile) call(v dataset.VarID) int64 {
	p := c.R.Data.Sets[0].firstHeader()
	switch {
	case p == nil:
		return 1
	case p.Packed != nil:
		return max(p.Packed.Chunk, 1)
	}
	return max(p.Gap(), 1)
}

// firstHeader is the first header that is loaded, nil if none is.
func (s *Set) firstHeader() *dataset.Place {
	for _, p := range s.Parts {
		if h := p.header(); h != nil {
			return h
		}
	}
	return nil
}
