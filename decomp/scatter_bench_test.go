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
		benchMap(b, c.name, m, m.Elems(), gather)
		if c.ncol > 1000 {
			benchMap(b, c.name+"_by_level", m, c.ncol, gather)
		}
	}
	rows := Regular([]int64{1000, 100}, 16)
	benchMap(b, "rows", rows, rows.Elems(), gather)
}

// benchMap moves all blobs, one window of the canonical array after the other.
func benchMap(b *testing.B, name string, m *Map, window int64, gather bool) {
	for _, width := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("%s/w%d", name, width), func(b *testing.B) {
			canon := fill(int(m.Elems())*width, 1)
			blob := fill(int(m.Total())*width, 2)
			b.SetBytes(int64(len(blob)))
			for b.Loop() {
				for lo := int64(0); lo < m.Elems(); lo += window {
					p := int64(0)
					part := canon[lo*int64(width) : (lo+window)*int64(width)]
					for r := range m.Ranks() {
						n := m.Count(r)
						piece := blob[p*int64(width) : (p+n)*int64(width)]
						if gather {
							m.Gather(piece, 0, part, lo, r, width)
						} else {
							m.Scatter(part, lo, piece, 0, r, width)
						}
						p += n
					}
				}
			}
			reqs := float64(m.Stats().Reqs)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/reqs, "ns/run")
		})
	}
}
