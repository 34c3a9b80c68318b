package amr_test

import (
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"

	"pgregory.net/rapid"
)

// unbalanced returns the leaves that touch a leaf more than one level coarser.
func unbalanced(tree *amr.Tree) (bad []amr.Index) {
	for x := range tree.Leaves() {
		for n := range 27 {
			y, _, ok := tree.Geometry().Beside(x, amr.FaceOf(n))
			for ok && !tree.Has(y) && y.Level() > 0 {
				y = y.Parent()
			}
			if ok && y.Level() < x.Level()-1 {
				bad = append(bad, x)
				break
			}
		}
	}
	return bad
}

// whole checks that no block is missing and that touching leaves are at most one level apart.
func whole(t interface {
	Helper()
	Errorf(format string, args ...any)
}, tree *amr.Tree) {
	t.Helper()
	if n, first := tree.Missing(); len(n) > 0 {
		t.Errorf("%v blocks are missing, the first is %v", n, first)
	}
	g := tree.Geometry()
	for l := g.MinLevel; l < 0; l++ {
		if n := g.Extent(l); tree.LevelLen(l) != n[0]*n[1]*n[2] {
			t.Errorf("level %d has %d blocks", l, tree.LevelLen(l))
		}
	}
	if bad := unbalanced(tree); len(bad) > 0 {
		t.Errorf("unbalanced: %v", bad)
	}
}

// smallTree returns a tree of 2 x 2 root blocks. The first one is refined, and one of its children again.
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

// TestBalanceOfFew: Balance refines a block that touches a leaf more than one level finer: across a face, a corner or a periodic
// border.
func TestBalanceOfFew(t *testing.T) {
	tree := smallTree(t)
	// Inside: refine the corner of the first root block that touches the three others.
	if err := tree.Refine(amr.At(1, [3]int{1, 1, 0})); err != nil {
		t.Fatal(err)
	}
	if n, err := tree.Balance(); err != nil || n != 3 {
		t.Errorf("Balance refined %d, %v, want 3", n, err)
	}
	whole(t, tree)
	g := gen.Geometry(1, 2, 4, 0, 3)
	g.Periodic[0] = true
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []amr.Index{{}, amr.At(1, [3]int{})} {
		if err := tree.Refine(x); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := tree.Balance(); err != nil || n != 1 {
		t.Errorf("periodic: Balance refined %d, %v, want 1", n, err)
	}
}

// TestBalance: Balance balances any tree and removes no leaf.
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
		bad := unbalanced(tree)
		n, err := tree.Balance()
		if err != nil || (n == 0) != (len(bad) == 0) || tree.Len() != len(before)+n<<rank {
			t.Fatalf("%v unbalanced; refined %d, from %d to %d blocks, %v", bad, n, len(before), tree.Len(), err)
		}
		whole(t, tree)
		for _, x := range before {
			if !tree.Has(x) {
				t.Fatalf("%s is gone", tree.Name(x))
			}
		}
	})
}
