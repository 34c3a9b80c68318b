package blob

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
)

// digest is the same for equal schemas, and for others another, of 63 bits.
func (s *Schema) digest() int64 {
	var b []byte
	num := func(v int64) { b = binary.AppendVarint(b, v) }
	text := func(t string) {
		num(int64(len(t)))
		b = append(b, t...)
	}
	ids := func(dims []DimID) {
		num(int64(len(dims)))
		for _, d := range dims {
			num(int64(d))
		}
	}
	atts := func(list []cdf5.Att) {
		num(int64(len(list)))
		for i := range list {
			a := &list[i]
			text(a.Name)
			num(int64(a.Type))
			if t, ok := a.Value.(string); ok {
				text(t)
				continue
			}
			v, _ := cdf5.Bytes(a.Value) // what has no type in CDF-5 is reported by the layout of the header
			num(int64(len(v)))
			b = append(b, v...)
		}
	}
	num(int64(len(s.dims)))
	for _, d := range s.dims {
		text(d.Name)
		num(d.Len)
	}
	atts(s.atts)
	num(int64(len(s.decomps)))
	for _, d := range s.decomps {
		ids(d)
	}
	num(int64(len(s.vars)))
	for i := range s.vars {
		v := &s.vars[i]
		text(v.Name)
		num(int64(v.Type))
		num(int64(v.Decomp))
		ids(v.Dims)
		atts(v.Atts)
	}
	sum := sha256.Sum256(b)
	return int64(binary.LittleEndian.Uint64(sum[:]) >> 1)
}

func printTexts(sums []int64) (texts []string) {
	for _, v := range sums {
		texts = append(texts, fmt.Sprintf("%016x", uint64(v)))
	}
	return texts
}

func mapPrint(m *decomp.Map, t *layout.Ranks, index int) int64 {
	var sum uint64
	for i, id := range t.ID {
		h := uint64(index)<<32 ^ uint64(id) ^ 0x9e3779b97f4a7c15
		for q := range m.Reqs(i) {
			h = mix(h ^ uint64(q.Offset))
			h = mix(h ^ uint64(q.Length))
		}
		sum += mix(h)
	}
	return int64(sum)
}

// mix is a bijective scrambler of 64 bits (xor shifts and odd multipliers).
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
