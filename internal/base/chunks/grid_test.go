package chunks

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		full    []int64
		records bool
		size    int
		want    string
	}{
		{nil, false, 8, "[]"},
		{[]int64{0}, true, 8, "[1]"},
		{[]int64{0, 48602}, true, 8, "[1 48602]"},
		{[]int64{3}, true, 8, "[3]"},
		{[]int64{1000, 48602}, true, 8, "[2 48602]"},      // small records: 1 MiB of records
		{[]int64{10, 72, 48602}, true, 8, "[1 18 48602]"}, // 28 MB: four parts
		{[]int64{10, 72, 48602}, true, 4, "[1 36 48602]"},
		{[]int64{2, 1 << 40, 1 << 20}, true, 8, "[1 1 1048576]"},
		{[]int64{1 << 40, 1 << 21}, false, 8, "[1 1048576]"},
		{[]int64{5, 1 << 40, 3, 1 << 21}, false, 8, "[1 1 1 1048576]"},
	} {
		if g := Cut(c.full, c.records, c.size, 8*mib); fmt.Sprint(g.Chunk) != c.want {
			t.Errorf("%v: chunks %v, want %s", c.full, g.Chunk, c.want)
		}
	}
}

// TestGridProperties: chunks have at most the target size and cover every element once, in order.
func TestGridProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 4).Draw(t, "full")
		records := len(full) > 0 && rapid.Bool().Draw(t, "records")
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
		target := rapid.Int64Range(1, 4000).Draw(t, "target")
		g := Cut(full, records, size, target)
		if b := g.Elems() * int64(size); b > max(target, int64(size)) {
			t.Fatalf("%v: chunks %v of %d bytes, want at most %d", full, g.Chunk, b, target)
		}
		next := int64(0) // next flattened index
		counts := g.Counts()
		total := int64(1)
		for _, n := range full {
			total *= n
		}
		if total == 0 {
			return
		}
		for k, index := int64(0), make([]int64, len(full)); ; k++ {
			if !g.Has(index) || !slices.Equal(Index(k, counts), index) {
				t.Fatalf("no chunk %v of %v", index, counts)
			}
			start, count := g.Region(index)
			flat, n := int64(0), int64(1)
			for i := range full {
				flat, n = flat*full[i]+start[i], n*count[i]
			}
			if flat != next {
				t.Fatalf("%v in chunks %v: chunk %v begins at %d, want %d", full, g.Chunk, index, flat, next)
			}
			next += n
			if !Next(index, counts) {
				break
			}
		}
		if next != total {
			t.Fatalf("%v in chunks %v: %d elements of %d", full, g.Chunk, next, total)
		}
		if g.Has(counts) && len(full) > 0 {
			t.Fatalf("%v in chunks %v has a chunk %v", full, g.Chunk, counts)
		}
	})
}
