package decomp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRepeats: PIO's indices 1 2 2 4 5 are four elements, one of them twice. E3SM-IO's merge also claims an element that is not
// in the list.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		reqs   []Req
		last   int64
		want   Repeats
		merged []Req
	}{
		{[]Req{{0, 2}, {1, 1}, {3, 2}}, 8, Repeats{Again: 1, Elems: 1, Added: 1, Off: 1}, []Req{{0, 2}, {1, 1}, {3, 2}}},
		{[]Req{{3, 2}, {0, 2}, {1, 1}}, 8, Repeats{Again: 1, Elems: 1, Added: 1, Off: 1}, []Req{{0, 2}, {1, 1}, {3, 2}}},
		{[]Req{{0, 1}, {0, 1}, {2, 1}}, 8, Repeats{Again: 1, Elems: 1, Off: 0}, []Req{{0, 1}, {0, 1}, {2, 1}}}, // the first element of a row adds nothing
		{[]Req{{4, 1}, {0, 3}, {2, 0}}, 8, Repeats{}, []Req{{0, 3}, {4, 1}}},
		{nil, 8, Repeats{}, nil},
	} {
		before := slices.Clone(c.reqs)
		if got := RepeatsOf(c.reqs, c.last); got != c.want || !slices.Equal(c.reqs, before) {
			t.Errorf("%v: %+v, want %+v", before, got, c.want)
		}
		b := NewBuilder([]int64{c.last}, 3)
		must(b.Set(1, c.reqs))
		m, err := b.Map()
		want := c.want
		if want.Again > 0 {
			want.Rank = 1
		}
		if err != nil || m.Repeats() != want {
			t.Errorf("%v: map: %+v, %v, want %+v", before, m.Repeats(), err, want)
		}
		if got := SortMerge(slices.Clone(c.reqs), c.last); !slices.Equal(got, c.merged) {
			t.Errorf("%v: merged %v, want %v", before, got, c.merged)
		}
	}
	for r, want := range map[Repeats]string{
		{Again: 1, Elems: 1, Added: 1}:              "1 index given twice; a merge as in E3SM-IO claims 1 more",
		{Again: 2, Elems: 2}:                        "2 indices given twice; a merge as in E3SM-IO claims 0 more",
		RepeatsOf([]Req{{3, 1}, {3, 1}, {3, 1}}, 8): "1 index given more than once, with 2 repeats; a merge as in E3SM-IO claims 2 more",
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRepeatsCounted compares random lists with a count of single elements.
func TestRepeatsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elems := rapid.Int64Range(1, 60).Draw(t, "elems")
		reqs, last := genReqs(t, elems, "rank"), rapid.Int64Range(1, 20).Draw(t, "last")
		count := func(reqs []Req) map[int64]int64 {
			n := map[int64]int64{}
			for _, q := range reqs {
				for o := q.Offset; o < q.End(); o++ {
					n[o]++
				}
			}
			return n
		}
		held := count(reqs)
		sum, often := int64(0), int64(0)
		for _, n := range held {
			if sum += n; n > 1 {
				often++
			}
		}
		as, own := SortCoalesce(slices.Clone(reqs), last), SortMerge(slices.Clone(reqs), last)
		got := RepeatsOf(reqs, last)
		if want := sum - int64(len(held)); got.Again != want || got.Again > 0 && got.Added != int64(len(count(as))-len(held)) {
			t.Fatalf("%v: %+v; %d are held %d times, as E3SM-IO has it %d", reqs, got, len(held), sum, len(count(as)))
		}
		if got.Elems != often {
			t.Fatalf("%v: %d elements are held more than once, want %d", reqs, got.Elems, often)
		}
		if got.Again == 0 && !slices.Equal(as, own) {
			t.Fatalf("%v: SortMerge makes %v, SortCoalesce %v", reqs, own, as)
		}
		merged := count(own)
		if len(merged) != len(held) {
			t.Fatalf("%v: SortMerge makes %v", reqs, own)
		}
		for o, n := range held {
			if merged[o] != n {
				t.Fatalf("%v: element %d is held %d times, in %v %d times", reqs, o, n, own, merged[o])
			}
		}
	})
}
