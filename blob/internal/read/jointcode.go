package read

import (
	"encoding/binary"
)

// stored is elements [off, off+n) of the canonical array, which are elements [at, at+n) of all that was stored: the blobs of one subfile
// after the other, each in the order of its map. Of elements that several requests hold the one with the largest at counts.
type stored struct{ off, n, at int64 }

// coder makes bytes of lists whose numbers go on from each other.
type coder struct {
	b       []byte
	off, at int64 // where the last one ended
}

func (c *coder) add(s stored) {
	c.b = binary.AppendVarint(c.b, s.off-c.off)
	c.b = binary.AppendUvarint(c.b, uint64(s.n))
	c.b = binary.AppendVarint(c.b, s.at-c.at)
	c.off, c.at = s.off+s.n, s.at+s.n
}

// decode calls f for all that a coder was given.
func decodeStored(b []byte, f func(stored)) {
	var c coder
	for len(b) > 0 {
		off, i := binary.Varint(b)
		n, j := binary.Uvarint(b[max(i, 0):])
		at, k := binary.Varint(b[max(i, 0)+max(j, 0):])
		if i <= 0 || j <= 0 || k <= 0 {
			return // of another build: who wants the elements misses them
		}
		b = b[i+j+k:]
		s := stored{c.off + off, int64(n), c.at + at}
		c.off, c.at = s.off+s.n, s.at+s.n
		f(s)
	}
}

// shares cuts n things into as many equal parts as there are.
type shares struct{ n, parts int64 }

// sharesOf gives each of some ranks at least least things, but for the last.
func sharesOf(n, least int64, ranks int) shares {
	return shares{n, max(1, min(int64(ranks), (n+least-1)/max(least, 1)))}
}

// from is where part i begins; the end if i is how many there are.
func (s shares) from(i int64) int64 { return s.n/s.parts*i + min(i, s.n%s.parts) }

// of is the part that has a thing.
func (s shares) of(x int64) int64 {
	q, rest := s.n/s.parts, s.n%s.parts
	if x < rest*(q+1) {
		return x / (q + 1)
	}
	return rest + (x-rest*(q+1))/max(q, 1)
}

// rank is who has part i: ranks far from each other, which are on several nodes.
func (s shares) rank(i int64, ranks int) int { return int(i * int64(ranks) / s.parts) }

// part is the part of a rank, -1 if it has none.
func (s shares) part(rank, ranks int) int64 {
	i := (int64(rank)*s.parts + int64(ranks) - 1) / int64(ranks)
	if i < s.parts && s.rank(i, ranks) == rank {
		return i
	}
	return -1
}
