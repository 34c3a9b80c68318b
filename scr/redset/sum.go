package redset

import (
	"hash/crc32"

	"blobio/internal/base/crccat"
)

// extent is a range of bytes of a logical file inside one file and one element: the
// unit of the checksums of data.
type extent struct {
	part int   // number of the file
	off  int64 // in the logical file, bytes
	n    int64
}

// extents divides the logical file of member m, whose files have these sizes. Files of
// no bytes have one extent, so that each file has one.
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

// inElem returns the member whose extents [lo, hi) element e of stripe c holds: of a
// copy the owner. ok is false for parity, which has a sum of its own.
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

// summer makes the checksums of consecutive ranges while their bytes pass in order, possibly
// from somewhere inside on.
type summer struct {
	ends []int64 // of the ranges, ascending, from the begin of the stripe
	at   int     // the range that the next byte is in
	crc  []uint32
	n    []int64 // bytes seen of each
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

// add takes the bytes [off, off+len(b)) of the stripe; what is beyond the last range is padding.
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

// join adds what t summed of the bytes right after those of s.
func (s *summer) join(t *summer) {
	for i := range s.crc {
		if t.n[i] > 0 {
			s.crc[i] = crccat.Cat(s.crc[i], t.crc[i], t.n[i])
			s.n[i] += t.n[i]
		}
	}
}

// whole is the checksum of the first n bytes of the stripe, which are zero beyond the ranges.
func (s *summer) whole(n int64) uint32 {
	crc, at := uint32(0), int64(0)
	for i, end := range s.ends {
		crc, at = crccat.Cat(crc, s.crc[i], end-at), end
	}
	return crccat.Cat(crc, crccat.Zeros(n-at), n-at)
}

// xorSum is the checksum of what elements of n bytes add up to: a CRC is linear, but for that of zeros.
func xorSum(in []*summer, n int64) uint32 {
	zero := crccat.Zeros(n)
	sum := zero
	for _, s := range in {
		sum ^= s.whole(n) ^ zero
	}
	return sum
}
