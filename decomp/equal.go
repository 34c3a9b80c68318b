package decomp

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Equal reports whether the maps have the same dimensions and ranks, and each
// rank the same requests in the same order.
func (m *Map) Equal(o *Map) bool {
	if !slices.Equal(m.dims, o.dims) || len(m.ranks) != len(o.ranks) {
		return false
	}
	if m.store == o.store && slices.Equal(m.ranks, o.ranks) {
		return true
	}
	for r := range m.ranks {
		a, b := &m.ranks[r], &o.ranks[r]
		if a.nreqs != b.nreqs || a.count != b.count || a.lo != b.lo || a.hi != b.hi || a.sorted != b.sorted {
			return false
		}
		if m.sameBlocks(a, o, b) {
			continue
		}
		if !m.sameReqs(o, r) {
			return false
		}
	}
	return true
}

// sameBlocks reports whether two ranks are stored in the same way.
func (m *Map) sameBlocks(a *rank, o *Map, b *rank) bool {
	x, y := m.blocks(a), o.blocks(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		p, q := x[i], y[i]
		prel, pend := m.store.pattern(&p)
		qrel, qend := o.store.pattern(&q)
		p.pat, q.pat = 0, 0
		if p != q || !slices.Equal(prel, qrel) || !slices.Equal(pend, qend) {
			return false
		}
	}
	return true
}

func (m *Map) sameReqs(o *Map, rank int) bool {
	var buf [256]Req
	n, same := 0, true
	// compare in pieces: one side is buffered, the other is walked
	a := m.chunks(rank, buf[:])
	var mine []Req
	for q := range o.Reqs(rank) {
		if n == len(mine) {
			mine, n = a(), 0
		}
		if n >= len(mine) || mine[n] != q {
			same = false
			break
		}
		n++
	}
	return same
}

// chunks returns a function that returns the next requests of a rank, some at a time.
func (m *Map) chunks(rank int, buf []Req) func() []Req {
	blocks := m.blocks(m.rank(rank))
	bi, rep, run := 0, int64(0), 0
	return func() []Req {
		n := 0
		for n < len(buf) && bi < len(blocks) {
			b := &blocks[bi]
			length, d := b.elems, int64(0)
			if rel, end := m.store.pattern(b); rel != nil {
				d, length = int64(rel[run]), int64(end[run])
				if run > 0 {
					length -= int64(end[run-1])
				}
			}
			buf[n] = Req{b.base + rep*b.stride + d, length}
			n++
			if run++; run == int(b.n) {
				run = 0
				if rep++; rep == b.count {
					rep = 0
					bi++
				}
			}
		}
		return buf[:n]
	}
}

// Fingerprint returns a digest of the contents of the map: dimensions, and
// the requests of each rank in order. It does not depend on how the map was
// made, nor on the host.
func (m *Map) Fingerprint() [32]byte {
	h := sha256.New()
	var buf []byte
	buf = binary.LittleEndian.AppendUint64(buf, uint64(len(m.dims)))
	for _, d := range m.dims {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(d))
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(len(m.ranks)))
	for r := range m.ranks {
		k := &m.ranks[r]
		a, b := m.hash(k)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(k.nreqs))
		buf = binary.LittleEndian.AppendUint64(buf, a)
		buf = binary.LittleEndian.AppendUint64(buf, b)
		if len(buf) > 1<<15 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return [32]byte(h.Sum(nil))
}

// hash returns two 64-bit hashes of the requests of a rank. They guard
// against mistakes, not against malice.
func (m *Map) hash(k *rank) (a, b uint64) {
	a, b = 0x243f6a8885a308d3, 0x13198a2e03707344
	mix := func(off, n int64) {
		x := uint64(off)*0x9e3779b97f4a7c15 + uint64(n)
		a = bits.RotateLeft64(a^x, 29) * 0xbf58476d1ce4e5b9
		b = (bits.RotateLeft64(b, 31) ^ x) * 0x94d049bb133111eb
	}
	blocks := m.blocks(k)
	for i := range blocks {
		bl := &blocks[i]
		rel, end := m.store.pattern(bl)
		for r := range bl.count {
			o := bl.base + r*bl.stride
			if rel == nil {
				mix(o, bl.elems)
				continue
			}
			prev := int32(0)
			for j, d := range rel {
				mix(o+int64(d), int64(end[j]-prev))
				prev = end[j]
			}
		}
	}
	return a, b
}
