package amr_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"

	"pgregory.net/rapid"
)

// drawTree draws a balanced tree with up to a few hundred blocks.
func drawTree(t *rapid.T) *amr.Tree {
	rank := rapid.IntRange(1, 3).Draw(t, "rank")
	g := gen.Geometry(rank, 1, 4, 0, rapid.IntRange(0, 4).Draw(t, "max level"))
	for i := range rank {
		g.Roots[i] = rapid.IntRange(1, 5).Draw(t, "roots")
		g.Periodic[i] = rapid.Bool().Draw(t, "periodic")
	}
	g.MinLevel = gen.Top(g.Roots)
	if rapid.Bool().Draw(t, "from level 0") {
		g.MinLevel = 0
	}
	tree, err := gen.Random(&g, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 300).Draw(t, "blocks"))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		g := tree.Geometry()
		whole(t, tree)
		n, leaves := 0, 0.0
		for _, x := range tree.Sorted() {
			n++
			if !tree.Has(x) || tree.Leaf(x) == tree.Refined(x) {
				t.Fatalf("%s: has %v, leaf %v, refined %v", tree.Name(x), tree.Has(x), tree.Leaf(x), tree.Refined(x))
			}
			kids := 0
			for c := range tree.Children(x) {
				if kids++; c.Parent() != x || !tree.Has(c) {
					t.Fatalf("%s is child of %s", tree.Name(c), tree.Name(x))
				}
			}
			if tree.Leaf(x) {
				lo, hi := x.Bounds(g)
				v := 1.0
				for i := range g.Rank {
					v *= hi[i] - lo[i]
				}
				leaves += v
			}
		}
		if n != tree.Len() {
			t.Fatalf("%d blocks, Len %d", n, tree.Len())
		}
		if leaves < 1-1e-9 || leaves > 1+1e-9 {
			t.Fatalf("leaves cover %g of the domain", leaves)
		}
		lo, hi := tree.Levels()
		sum := 0
		for l := lo; l <= hi; l++ {
			sum += tree.LevelLen(l)
		}
		if sum != n || lo != g.MinLevel {
			t.Fatalf("levels %d to %d have %d blocks, want %d", lo, hi, sum, n)
		}
	})
}

// walk computes an order from its definition: depth first, a parent before its children, and the children in the order in which
// the curve visits them.
func walk(tree *amr.Tree, x amr.Index, children func(x amr.Index) []amr.Index, out *[]amr.Index) {
	if !tree.Has(x) {
		return
	}
	*out = append(*out, x)
	for _, c := range children(x) {
		walk(tree, c, children, out)
	}
}

func TestOrderings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		g := tree.Geometry()
		for _, o := range []amr.Ordering{amr.Morton{}, amr.Hilbert{}, amr.RootBlocks{}} {
			order := o.Order(tree)
			if len(order) != tree.Len() {
				t.Fatalf("%s: %d blocks, want %d", o.Name(), len(order), tree.Len())
			}
			at := map[amr.Index]int{}
			for i, x := range order {
				if _, twice := at[x]; twice || !tree.Has(x) {
					t.Fatalf("%s: block %s twice, or not of the tree", o.Name(), tree.Name(x))
				}
				at[x] = i
				if x.Level() > g.MinLevel {
					if p, ok := at[x.Parent()]; !ok || p >= i {
						t.Fatalf("%s: %s before its parent", o.Name(), tree.Name(x))
					}
				}
			}
			if got, err := amr.OrderingByName(o.Name()); err != nil || got != o {
				t.Fatalf("OrderingByName(%s) = %v, %v", o.Name(), got, err)
			}
		}
		// A sort by key gives the same order as walk.
		top := slices.Collect(g.Level(g.MinLevel))
		slices.SortFunc(top, func(x, y amr.Index) int { return key(g, x, false).Compare(key(g, y, false)) })
		var want []amr.Index
		for _, x := range top {
			walk(tree, x, func(x amr.Index) []amr.Index { return slices.Collect(tree.Children(x)) }, &want)
		}
		if got := (amr.Morton{}).Order(tree); !slices.Equal(got, want) {
			t.Fatalf("Morton: the order by keys is not the walk")
		}
		slices.SortFunc(top, func(x, y amr.Index) int { return key(g, x, true).Compare(key(g, y, true)) })
		want = nil
		for _, x := range top {
			walk(tree, x, func(x amr.Index) []amr.Index {
				c := slices.Collect(tree.Children(x))
				slices.SortFunc(c, func(x, y amr.Index) int { return key(g, x, true).Compare(key(g, y, true)) })
				return c
			}, &want)
		}
		if got := (amr.Hilbert{}).Order(tree); !slices.Equal(got, want) {
			t.Fatalf("Hilbert: the order by keys is not the walk")
		}
	})
}

// key returns the position of a block among the blocks of its own level, on the curve through all blocks that the 10 array bits
// and the child bits can distinguish.
func key(g *amr.Geometry, x amr.Index, hilbert bool) sfc.Key {
	c := x.Coord()
	p := [3]uint32{uint32(c[0]), uint32(c[1]), uint32(c[2])}
	if hilbert {
		return sfc.Hilbert(g.Rank, 10+x.Level()+1, [3]uint32{p[0] << 1, p[1] << 1, p[2] << 1})
	}
	return sfc.Morton(32, p)
}

func TestRootBlocksOrder(t *testing.T) {
	g := gen.Geometry(2, 2, 4, 0, 2)
	g.Roots[0] = 3
	g.MinLevel = -2
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Refine(amr.At(0, [3]int{1, 0, 0})); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range (amr.RootBlocks{}).Order(tree) {
		got = append(got, fmt.Sprint(x.Level(), x.Coord()))
	}
	want := []string{"-2 [0 0 0]", "-1 [0 0 0]", "-1 [1 0 0]", "0 [0 0 0]", "0 [1 0 0]",
		"1 [2 0 0]", "1 [3 0 0]", "1 [2 1 0]", "1 [3 1 0]", "0 [2 0 0]", "0 [0 1 0]", "0 [1 1 0]", "0 [2 1 0]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if _, err := amr.OrderingByName("peano"); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("peano: %v", err)
	}
}

// TestQuality checks the surface and the balance of the parts of several cuts.
func TestQuality(t *testing.T) {
	g := gen.Geometry(2, 4, 4, 0, 0)
	for _, periodic := range []bool{false, true} {
		g.Periodic = [3]bool{periodic, periodic, false}
		tree, err := gen.Uniform(&g, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := [2]sfc.Quality{{Max: 4, Mean: 4, Eff: 1, Surface: 8, Faces: 24}, {Max: 16, Mean: 16, Eff: 1, Faces: 24}}
		if periodic { // two more faces in each row and each column
			want[0].Surface, want[0].Faces, want[1].Faces = 16, 32, 32
		}
		// 4 x 4 root blocks in four quarters.
		for _, o := range []amr.Ordering{amr.Morton{}, amr.Hilbert{}} {
			leaves := slices.DeleteFunc(o.Order(tree), func(x amr.Index) bool { return !tree.Leaf(x) })
			for i, parts := range [2]int{4, 1} {
				if q := amr.Quality(tree, leaves, sfc.Owners(sfc.ByCount(len(leaves), parts)), parts, nil); q != want[i] {
					t.Errorf("%s, periodic %v, %d parts: %+v, want %+v", o.Name(), periodic, parts, q, want[i])
				}
			}
		}
	}
}

func TestTreeErrors(t *testing.T) {
	g := gen.Geometry(2, 2, 4, 0, 1)
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	root := amr.At(0, [3]int{1, 1, 0})
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("add twice", tree.Add(root), fault.ErrExist)
	check("add outside", tree.Add(amr.At(0, [3]int{2, 0, 0})), fault.ErrRange)
	check("add too fine", tree.Add(amr.At(2, [3]int{0, 0, 0})), fault.ErrRange)
	check("add too coarse", tree.Add(amr.At(-2, [3]int{0, 0, 0})), fault.ErrRange)
	check("add bad bits", tree.Add(amr.Index{1 << 12, 0, 0}), fault.ErrCorrupt)
	check("refine above the roots", tree.Refine(amr.At(-1, [3]int{})), fault.ErrExist)
	check("refine nothing", tree.Refine(amr.At(1, [3]int{})), fault.ErrMissing)
	check("refine", tree.Refine(root), nil)
	check("refine again", tree.Refine(root), fault.ErrExist)
	check("refine at the finest level", tree.Refine(root.Child([3]int{})), fault.ErrRange)
	if tree.Len() != 9 {
		t.Errorf("%d blocks", tree.Len())
	}
}

func TestGeometryBad(t *testing.T) {
	for what, spoil := range map[string]func(g *amr.Geometry){
		"rank":        func(g *amr.Geometry) { g.Rank = 4 },
		"roots":       func(g *amr.Geometry) { g.Roots[0] = 0 },
		"many roots":  func(g *amr.Geometry) { g.Roots[1] = 1025 },
		"cells":       func(g *amr.Geometry) { g.Block[1] = 0 },
		"ghosts":      func(g *amr.Geometry) { g.Ghost[0] = -1 },
		"roots of z":  func(g *amr.Geometry) { g.Roots[2] = 2 },
		"ghosts of z": func(g *amr.Geometry) { g.Ghost[2] = 1 },
		"domain":      func(g *amr.Geometry) { g.Upper[1] = g.Lower[1] },
		"min level":   func(g *amr.Geometry) { g.MinLevel = 1 },
		"low level":   func(g *amr.Geometry) { g.MinLevel = -11 },
		"max level":   func(g *amr.Geometry) { g.MaxLevel = 21 },
	} {
		g := gen.Geometry(2, 4, 8, 3, 2)
		spoil(&g)
		if err := g.Validate(); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := amr.NewRootTree(&g); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: tree: %v", what, err)
		}
	}
}
