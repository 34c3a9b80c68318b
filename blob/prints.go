package blob

import (
	"fmt"

	"blobio/blob/internal/layout"
	"blobio/decomp"
)

// fingerprint returns bytes that are equal for equal schemas.
func (s *Schema) fingerprint() ([]byte, error) {
	sh := &layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: make([]int64, len(s.decomps)), MaxReqs: make([]int64, len(s.decomps))}
	h := s.blobHeader(sh)
	return h.AppendTo(make([]byte, 0, h.EncodedLen()), orderOf(false), true)
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
