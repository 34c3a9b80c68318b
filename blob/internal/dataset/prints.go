package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
)

// Digest returns 63 bits. They are equal for equal schemas and, very probably,
// different for different schemas.
func (s *Schema) Digest() int64 {
	p := printer{sum: sha256.New(), b: make([]byte, 0, 2*printerRoom)}
	p.num(int64(len(s.Dims)))
	for _, d := range s.Dims {
		p.text(d.Name)
		p.num(d.Len)
	}
	p.atts(s.Atts)
	p.num(int64(len(s.Decomps)))
	for _, d := range s.Decomps {
		p.ids(d)
	}
	p.num(int64(len(s.Vars)))
	for i := range s.Vars {
		v := &s.Vars[i]
		p.text(v.Name)
		p.num(int64(v.Type))
		p.num(int64(v.Decomp))
		p.ids(v.Dims)
		p.atts(v.Atts)
	}
	p.sum.Write(p.b)
	return int64(binary.LittleEndian.Uint64(p.sum.Sum(nil)) >> 1)
}

// printer hashes the input of a digest in blocks that fit into the cache.
type printer struct {
	sum hash.Hash
	b   []byte
}

const printerRoom = 4 << 10

func (p *printer) num(v int64) {
	if p.b = binary.AppendVarint(p.b, v); len(p.b) >= printerRoom {
		p.sum.Write(p.b)
		p.b = p.b[:0]
	}
}

func (p *printer) text(t string) {
	p.num(int64(len(t)))
	p.b = append(p.b, t...)
}

func (p *printer) ids(dims []DimID) {
	p.num(int64(len(dims)))
	for _, d := range dims {
		p.num(int64(d))
	}
}

func (p *printer) atts(list []cdf5.Att) {
	p.num(int64(len(list)))
	for i := range list {
		a := &list[i]
		p.text(a.Name)
		p.num(int64(a.Type))
		if t, ok := a.Value.(string); ok {
			p.text(t)
			continue
		}
		v, _ := cdf5.Bytes(a.Value) // the layout of the header later reports a value without a type in CDF-5
		p.num(int64(len(v)))
		p.b = append(p.b, v...)
	}
}

func PrintTexts(sums []int64) (texts []string) {
	for _, v := range sums {
		texts = append(texts, fmt.Sprintf("%016x", uint64(v)))
	}
	return texts
}

func MapPrint(m *decomp.Map, t *layout.Ranks, index int) int64 {
	var sum uint64
	for i, id := range t.ID {
		h := uint64(index)<<32 ^ uint64(id) ^ 0x9e3779b97f4a7c15
		for q := range m.Reqs(i) {
			h = Mix(h ^ uint64(q.Offset))
			h = Mix(h ^ uint64(q.Length))
		}
		sum += Mix(h)
	}
	return int64(sum)
}

// Mix is a bijective mixer of 64 bits (xor shifts and odd multipliers).
func Mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// HashOdd is added so that zeros do not hash to 0.
const HashOdd = 0x9e3779b97f4a7c15

// HashAdd adds x to a hash.
func HashAdd(h, x uint64) uint64 { return Mix(h+x) + HashOdd }

// HashOf returns a hash of bytes.
func HashOf(b []byte) uint64 {
	h := HashAdd(HashOdd, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = HashAdd(h, binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	return HashAdd(h, binary.LittleEndian.Uint64(rest[:]))
}
