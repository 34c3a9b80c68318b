package amr_test

import (
	"slices"
	"testing"

	"blobio/amr"
	"blobio/internal/amr/gen"

	"pgregory.net/rapid"
)

func codes(t *amr.Tree) map[amr.Code]int {
	out := map[amr.Code]int{}
	for f := range t.Validate() {
		out[f.Code]++
	}
	return out
}

// smallTree is 2 x 2 root blocks; the first one is refined, and one of its
// children again.
func smallTree(t *testing.T) *amr.Tree {
	g := gen.Geometry(2, 2, 4, 0, 3)
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []amr.Index{{}, amr.At(1, [3]int{0, 0, 0})} {
		if err := tree.Refine(x); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestValidate(t *testing.T) {
	at := amr.At
	for _, c := range []struct {
		what   string
		remove []amr.Index
		add    []amr.Index
		want   []amr.Finding // without messages
	}{
		{what: "whole"},
		{what: "a child is missing", remove: []amr.Index{at(2, [3]int{1, 0, 0})},
			want: []amr.Finding{{Code: amr.MissingChild, Index: at(2, [3]int{1, 0, 0}), Other: at(1, [3]int{})}}},
		{what: "a parent is missing", remove: []amr.Index{at(1, [3]int{0, 0, 0})},
			want: []amr.Finding{
				{Code: amr.MissingChild, Index: at(1, [3]int{}), Other: at(0, [3]int{})},
				{Code: amr.MissingParent, Index: at(1, [3]int{}), Other: at(2, [3]int{})}}},
		{what: "a root is missing", remove: []amr.Index{at(0, [3]int{1, 1, 0})},
			want: []amr.Finding{{Code: amr.MissingRoot, Index: at(0, [3]int{1, 1, 0}), Other: at(0, [3]int{1, 1, 0})}}},
		{what: "a root with children is missing", remove: []amr.Index{at(0, [3]int{})},
			want: []amr.Finding{{Code: amr.MissingRoot, Index: at(0, [3]int{}), Other: at(0, [3]int{})}}},
		{what: "the top is missing", remove: []amr.Index{at(-1, [3]int{})},
			want: []amr.Finding{{Code: amr.MissingAncestor, Index: at(-1, [3]int{}), Other: at(-1, [3]int{})}}},
		{what: "an orphan", add: []amr.Index{at(2, [3]int{7, 7, 0})},
			want: []amr.Finding{
				{Code: amr.MissingParent, Index: at(1, [3]int{3, 3, 0}), Other: at(2, [3]int{7, 7, 0})},
				{Code: amr.MissingChild, Index: at(2, [3]int{6, 6, 0}), Other: at(1, [3]int{3, 3, 0})},
				{Code: amr.MissingChild, Index: at(2, [3]int{7, 6, 0}), Other: at(1, [3]int{3, 3, 0})},
				{Code: amr.MissingChild, Index: at(2, [3]int{6, 7, 0}), Other: at(1, [3]int{3, 3, 0})}}},
	} {
		tree := smallTree(t)
		for _, x := range c.remove {
			if err := tree.Remove(x); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range c.add {
			if err := tree.Add(x); err != nil {
				t.Fatal(err)
			}
		}
		var got []amr.Finding
		for f := range tree.Validate() {
			if f.Msg == "" {
				t.Errorf("%s: no message", c.what)
			}
			f.Msg = ""
			got = append(got, f)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v\nwant %v", c.what, got, c.want)
		}
		// A caller may stop after the first.
		for range tree.Validate() {
			break
		}
	}
}

func TestUnbalanced(t *testing.T) {
	tree := smallTree(t)
	// Inside: the corner of the first root block that touches the others.
	if err := tree.Refine(amr.At(1, [3]int{1, 1, 0})); err != nil {
		t.Fatal(err)
	}
	// Three root blocks are not refined: two over faces, each met by two
	// directions of the refined block, and one over a corner.
	got := map[amr.Index]bool{}
	for f := range tree.Validate() {
		if f.Code != amr.Unbalanced || f.Index != amr.At(1, [3]int{1, 1, 0}) {
			t.Errorf("%+v", f)
		}
		got[f.Other.Parent()] = true
	}
	if len(got) != 3 {
		t.Errorf("unbalanced against %d root blocks, want 3", len(got))
	}
	n, err := tree.Balance()
	if err != nil || n != 3 {
		t.Errorf("Balance refined %d, %v, want 3", n, err)
	}
	if c := codes(tree); len(c) != 0 {
		t.Errorf("after Balance: %v", c)
	}
	// Over a periodic border.
	g := gen.Geometry(1, 2, 4, 0, 3)
	g.Periodic[0] = true
	if tree, err = amr.NewRootTree(&g); err != nil {
		t.Fatal(err)
	}
	for _, x := range []amr.Index{{}, amr.At(1, [3]int{})} {
		if err := tree.Refine(x); err != nil {
			t.Fatal(err)
		}
	}
	if c := codes(tree); c[amr.Unbalanced] != 1 || len(c) != 1 {
		t.Errorf("periodic: %v", c)
	}
}

// A tree of any leaves is balanced after Balance, which takes none away.
func TestBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		g := gen.Geometry(rank, rapid.IntRange(1, 3).Draw(t, "roots"), 4, 0, 5)
		g.Periodic = [3]bool{rapid.Bool().Draw(t, "x"), rank > 1 && rapid.Bool().Draw(t, "y"), rank > 2 && rapid.Bool().Draw(t, "z")}
		tree, err := amr.NewRootTree(&g)
		if err != nil {
			t.Fatal(err)
		}
		x := amr.Index{}
		for range rapid.IntRange(1, 5).Draw(t, "depth") {
			if err := tree.Refine(x); err != nil {
				t.Fatal(err)
			}
			var c [3]int
			for i := range rank {
				c[i] = rapid.IntRange(0, 1).Draw(t, "child")
			}
			x = x.Child(c)
		}
		before := slices.Clone(tree.Sorted())
		bad := codes(tree)[amr.Unbalanced]
		n, err := tree.Balance()
		if err != nil || (n == 0) != (bad == 0) || tree.Len() != len(before)+n<<rank {
			t.Fatalf("%d unbalanced; refined %d, from %d to %d blocks, %v", bad, n, len(before), tree.Len(), err)
		}
		for f := range tree.Validate() {
			t.Fatal(f)
		}
		for _, x := range before {
			if !tree.Has(x) {
				t.Fatalf("%s is gone", tree.Name(x))
			}
		}
	})
}

// Taking any one block away is told.
func TestValidateAnyHole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		all := tree.Sorted()
		x := all[rapid.IntRange(0, len(all)-1).Draw(t, "block")]
		if err := tree.Remove(x); err != nil {
			t.Fatal(err)
		}
		told := false
		for f := range tree.Validate() {
			told = told || f.Index == x
			if f.Code == amr.Unbalanced {
				t.Errorf("%s: a hole is told as missing balance: %s", tree.Name(x), f)
			}
		}
		if !told {
			t.Fatalf("%s is missing, and is not told", tree.Name(x))
		}
	})
}

// A geometry with room for 2^30 root blocks and none there does not take
// for ever.
func TestValidateHostile(t *testing.T) {
	g := gen.Geometry(3, 1024, 4, 0, 20)
	tree := amr.NewTree(&g)
	if err := tree.Add(amr.At(20, [3]int{1<<30 - 1, 5, 7})); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range tree.Validate() {
		n++
	}
	if n < 1000 || n > 20000 {
		t.Errorf("%d findings", n)
	}
}
