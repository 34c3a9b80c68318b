package decomp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSortCoalesce(t *testing.T) {
	for _, c := range []struct {
		name     string
		last     int64
		in, want []Req
	}{
		{"empty", 4, nil, nil},
		{"one", 4, []Req{{5, 2}}, []Req{{5, 2}}},
		{"neighbours", 8, []Req{{3, 1}, {1, 1}, {2, 1}}, []Req{{1, 3}}},
		{"end of row", 4, []Req{{2, 2}, {4, 2}}, []Req{{2, 2}, {4, 2}}},
		{"gap", 8, []Req{{1, 1}, {3, 1}}, []Req{{1, 1}, {3, 1}}},
		{"overlap is added", 8, []Req{{1, 3}, {2, 3}}, []Req{{1, 6}}},
		{"row start twice", 8, []Req{{8, 1}, {8, 2}}, []Req{{8, 1}, {8, 2}}},
		{"offset 0 twice", 8, []Req{{0, 1}, {0, 2}}, []Req{{0, 1}, {0, 2}}},
		{"a run over a row end", 4, []Req{{2, 4}, {6, 1}, {5, 1}}, []Req{{2, 6}}},
		{"rows of 1", 1, []Req{{1, 1}, {0, 1}}, []Req{{0, 1}, {1, 1}}},
	} {
		if got := SortCoalesce(slices.Clone(c.in), c.last); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSortCoalesceEqualsSimple(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]int64{20, 1000, 1 << 20, 1 << 45}).Draw(t, "top")
		in := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Req {
			return Req{rapid.Int64Range(0, top).Draw(t, "off"), rapid.Int64Range(0, 4).Draw(t, "len")}
		}), 0, 200).Draw(t, "reqs")
		last := rapid.Int64Range(1, 50).Draw(t, "last")
		want := naiveCoalesce(in, last)
		if got := SortCoalesce(slices.Clone(in), last); !slices.Equal(got, want) {
			t.Fatalf("last %d\n%v\ngot  %v\nwant %v", last, in, got, want)
		}
	})
	sortByOffset([]Req{{1<<63 - 1, 0}, {-1 << 63, 0}})
}

func TestDeal(t *testing.T) {
	for _, c := range []struct{ procs, ranks, rank, first, n int }{
		{16, 5, 0, 0, 4}, {16, 5, 1, 4, 3}, {16, 5, 4, 13, 3},
		{16, 20, 15, 15, 1}, {16, 20, 16, 16, 0}, {16, 16, 3, 3, 1},
		{16, 4, 9, 0, 0}, {0, 4, 1, 0, 0}, {3, 0, 0, 0, 0},
	} {
		first, n := Deal(c.procs, c.ranks, c.rank)
		if first != c.first && n > 0 || n != c.n {
			t.Errorf("Deal(%d, %d, %d) = %d, %d, want %d, %d", c.procs, c.ranks, c.rank, first, n, c.first, c.n)
		}
	}
}

func TestRegular(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 3).Draw(t, "dims")
		ranks := rapid.IntRange(0, 12).Draw(t, "ranks")
		m := Regular(dims, ranks)
		elems := product(dims)
		next := int64(0)
		for r := range ranks {
			want := elems / int64(ranks)
			if int64(r) < elems%int64(ranks) { // the first ranks have one more element
				want++
			}
			if c := m.Count(r); c != want {
				t.Fatalf("rank %d has %d of %d elements, want %d", r, c, elems, want)
			}
			for q := range m.Reqs(r) {
				if q.Offset != next || q.Length < 1 {
					t.Fatalf("rank %d: %v, want offset %d", r, q, next)
				}
				next = q.End()
				if last := append([]int64{1}, dims...)[len(dims)]; q.Offset/last != (next-1)/last {
					t.Fatalf("rank %d: %v crosses a row of %d", r, q, last)
				}
			}
			n := 0
			for range m.Reqs(r) {
				n++
			}
			if int64(n) != m.NumReqs(r) {
				t.Fatalf("rank %d: NumReqs %d, has %d", r, m.NumReqs(r), n)
			}
		}
		if ranks > 0 && next != elems {
			t.Fatalf("covered %d of %d", next, elems)
		}
	})
	if m := Regular([]int64{1 << 40, 1 << 40}, 3); m.Ranks() != 0 || m.Elems() != 0 {
		t.Error("dimensions that do not fit gave a map")
	}
	m := Regular([]int64{1 << 20, 1 << 35}, 7) // large, but stored without expanding
	if m.Total() != 1<<55 || m.MemSize() > 10000 {
		t.Errorf("total %d, %d bytes", m.Total(), m.MemSize())
	}
}
