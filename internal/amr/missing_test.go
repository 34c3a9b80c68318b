package amr_test

import (
	"maps"
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"
)

func TestMissing(t *testing.T) {
	at := amr.At
	for _, c := range []struct {
		what   string
		remove []amr.Index
		add    []amr.Index
		want   map[int]int64
		first  amr.Index
	}{
		{what: "nothing", want: map[int]int64{}},
		{what: "a child", remove: []amr.Index{at(2, [3]int{1, 0, 0})}, want: map[int]int64{2: 1}, first: at(2, [3]int{1, 0, 0})},
		{what: "a parent and a child", remove: []amr.Index{at(1, [3]int{0, 0, 0}), at(2, [3]int{1, 0, 0})}, want: map[int]int64{1: 1, 2: 1}, first: at(1, [3]int{0, 0, 0})},
		{what: "roots", remove: []amr.Index{at(0, [3]int{1, 1, 0}), at(0, [3]int{1, 0, 0})}, want: map[int]int64{0: 2}, first: at(0, [3]int{1, 0, 0})},
		{what: "a family of children, which may be leaves' parents", remove: []amr.Index{at(2, [3]int{0, 0, 0}), at(2, [3]int{1, 0, 0}), at(2, [3]int{0, 1, 0}), at(2, [3]int{1, 1, 0})}, want: map[int]int64{}},
		{what: "all above an orphan", add: []amr.Index{at(3, [3]int{15, 15, 0})}, want: map[int]int64{1: 4, 2: 4, 3: 3}, first: at(1, [3]int{2, 2, 0})},
		{what: "the top, which a program makes itself", remove: []amr.Index{at(-1, [3]int{})}, want: map[int]int64{}},
	} {
		whole := smallTree(t)
		tree := amr.NewTree(whole.Geometry())
		for _, x := range append(slices.Clone(whole.Sorted()), c.add...) {
			if slices.Contains(c.remove, x) {
				continue
			}
			if err := tree.Add(x); err != nil {
				t.Fatal(err)
			}
		}
		if got, first := tree.Missing(); !maps.Equal(got, c.want) || first != c.first {
			t.Errorf("%s is missing: %v, first %v; want %v, %v", c.what, got, first, c.want, c.first)
		}
	}
	g := gen.Geometry(3, 1<<9, 4, 0, 3) // 2^27 possible root blocks; a file may have none of them
	if got, first := amr.NewTree(&g).Missing(); got[0] != 1<<27 || first != (amr.Index{}) {
		t.Errorf("no blocks: %v, %v", got, first)
	}
}
