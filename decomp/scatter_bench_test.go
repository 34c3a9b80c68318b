package decomp

import (
	"fmt"
	"testing"
)

// BenchmarkScatter moves all blobs of an F D3 map into the canonical array and
// back: ne=30 (48602 columns, 72 levels), 1350 ranks of 36 columns.
func BenchmarkScatter(b *testing.B) { benchMove(b, false) }

// BenchmarkGather is the reverse.
func BenchmarkGather(b *testing.B) { benchMove(b, true) }

func benchMove(b *testing.B, gather bool) {
	for _, c := range []struct {
		name       string
		ncol, nlev int64
		ranks      int
	}{
		{"F_ne4", 866, 72, 16},
		{"F_ne30", 48602, 72, 1350},
	} {
		_, m := fcase(b, c.ncol, c.nlev, c.ranks, true)
		benchMap(b, c.name, m, gather)
	}
	benchMap(b, "rows", Regular([]int64{1000, 100}, 16), gather)
}

func benchMap(b *testing.B, name string, m *Map, gather bool) {
	for _, width := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("%s/w%d", name, width), func(b *testing.B) {
			canon := fill(int(m.Elems())*width, 1)
			blob := fill(int(m.Total())*width, 2)
			b.SetBytes(int64(len(blob)))
			for b.Loop() {
				p := int64(0)
				for r := range m.Ranks() {
					n := m.Count(r)
					piece := blob[p*int64(width) : (p+n)*int64(width)]
					if gather {
						m.Gather(piece, 0, canon, 0, r, width)
					} else {
						m.Scatter(canon, 0, piece, 0, r, width)
					}
					p += n
				}
			}
			reqs := float64(m.Stats().Reqs)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/reqs, "ns/run")
		})
	}
}
