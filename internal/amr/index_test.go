package amr_test

import (
	"errors"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/base/fault"

	"pgregory.net/rapid"
)

func TestIndexTable(t *testing.T) {
	deep := amr.Root([3]int{1023, 0, 1}, 0)
	for range 20 {
		deep = deep.Child([3]int{1, 0, 1})
	}
	for _, c := range []struct {
		x, want amr.Index
		level   int
		name    string
		roots   int
	}{
		{amr.Root([3]int{}, 0), amr.Index{}, 0, "B00_00_00", 4},
		{amr.Root([3]int{1, 2, 3}, 0), amr.Index{4, 8, 12}, 0, "B01_10_11", 4},
		{amr.Root([3]int{1, 2, 3}, 0).Child([3]int{1, 0, 1}), amr.Index{-2147483643, 8, -2147483636}, 1, "B01:1_10:0_11:1", 4},
		{amr.Root([3]int{1, 2, 3}, 0).Child([3]int{1, 0, 1}).Child([3]int{0, 1, 1}), amr.Index{-2147483642, 1073741832, -1073741812}, 2, "B01:10_10:01_11:11", 4},
		{amr.Root([3]int{0, 1, 1}, -1), amr.Index{1, 8, 9}, -1, "B0_1_1", 4},
		{amr.Root([3]int{}, -2), amr.Index{2, 0, 1}, -2, "B__", 4},
		{deep, amr.Index{-4, 1, -4094 + 4}, 20, "B1111111111:11111111111111111111_0000000000:00000000000000000000_0000000001:11111111111111111111", 1024},
	} {
		if c.x != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.x, c.want)
		}
		if got := c.x.Level(); got != c.level {
			t.Errorf("%s: level %d, want %d", c.name, got, c.level)
		}
		if got := c.x.Name(3, [3]int{c.roots, c.roots, c.roots}); got != c.name {
			t.Errorf("name %s, want %s", got, c.name)
		}
		if err := c.x.Valid(3); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A block of level 20 in octree 0, as in Enzo-E.
	x := amr.Index{}
	for range 20 {
		x = x.Child([3]int{1, 0, 1})
	}
	if want := (amr.Index{-4096, 1, -4094}); x != want {
		t.Errorf("depth 20: %d, want %d", x, want)
	}
}

func TestIndexInvalid(t *testing.T) {
	for _, c := range []struct {
		x    amr.Index
		rank int
		why  string
	}{
		{amr.Index{1 << 12, 0, 0}, 3, "child bits at level 0"},
		{amr.Index{-2147483647 + 1<<30, 0, 0}, 3, "child bit of level 2 at level 1"},
		{amr.Index{4, 0, 0 | 1}, 3, "level -0"},
		{amr.Index{1 | 4, 0, 1}, 3, "array bit shifted in at level -1"},
		{amr.Index{0, 4, 0}, 1, "y coordinate in one dimension"},
		{amr.Index{0, 0, -2147483648}, 2, "z child bit in two dimensions"},
		{amr.Index{3, 3, 2}, 3, "level 31"},
		{amr.Index{1, 1, 2}, 3, "level 21"},
		{amr.Index{3, 2, 1}, 3, "level -11"},
		{amr.Index{}, 0, "rank 0"},
		{amr.Index{}, 4, "rank 4"},
		{amr.At(20, [3]int{}).Child([3]int{1, 1, 1}), 3, "child of the deepest level"},
	} {
		err := c.x.Valid(c.rank)
		var f *fault.FormatError
		if !errors.Is(err, fault.ErrCorrupt) || !errors.As(err, &f) {
			t.Errorf("%s: %d: error %v", c.why, c.x, err)
		}
	}
	// Indexes beyond the limits.
	top := amr.Root([3]int{}, -31)
	if top.Parent() != top || top.Level() != -31 {
		t.Errorf("parent of level -31: %d", top.Parent())
	}
	bottom := amr.At(31, [3]int{})
	if bottom.Child([3]int{1, 0, 0}) != bottom || bottom.Level() != 31 {
		t.Errorf("child of level 31: %d", bottom.Child([3]int{1, 0, 0}))
	}
}

// drawIndex draws a domain and a block in it.
func drawIndex(t *rapid.T) (g *amr.Geometry, x amr.Index) {
	g = &amr.Geometry{Rank: rapid.IntRange(1, 3).Draw(t, "rank"), Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, MinLevel: amr.MinLevel, MaxLevel: amr.MaxDepth}
	pow := rapid.Bool().Draw(t, "power of two")
	for i := range g.Rank {
		if pow {
			g.Roots[i] = 1 << rapid.IntRange(0, 10).Draw(t, "log roots")
		} else {
			g.Roots[i] = rapid.IntRange(1, amr.MaxRoots).Draw(t, "roots")
		}
		g.Upper[i] = 1
	}
	level := rapid.IntRange(amr.MinLevel, amr.MaxDepth).Draw(t, "level")
	var c [3]int
	for i, n := range g.Extent(level) {
		c[i] = rapid.IntRange(0, n-1).Draw(t, "coord")
	}
	return g, amr.At(level, c)
}

func TestIndexProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, x := drawIndex(t)
		if err := g.Contains(x); err != nil {
			t.Fatal(err)
		}
		if y := amr.At(x.Level(), x.Coord()); y != x {
			t.Fatalf("At(Coord) of %d is %d", x, y)
		}
		if l := x.Level(); l < amr.MaxDepth {
			var c [3]int
			for i := range g.Rank {
				c[i] = rapid.IntRange(0, 1).Draw(t, "child")
			}
			y := x.Child(c)
			if y.Level() != l+1 || y.Parent() != x || y.ChildNumber() != c[0]+2*c[1]+4*c[2] || y.Valid(g.Rank) != nil {
				t.Fatalf("child %v of %d is %d: level %d, parent %d, child %d, %v", c, x, y, y.Level(), y.Parent(), y.ChildNumber(), y.Valid(g.Rank))
			}
			if y.Ancestor(l) != x {
				t.Fatalf("ancestor of %d at level %d is %d", y, l, y.Ancestor(l))
			}
			at, up := y.Coord(), x.Coord()
			for i := range at {
				if at[i]>>1 != up[i] {
					t.Fatalf("child at %v of block at %v", at, up)
				}
			}
		}
		lo, hi := x.Bounds(g)
		for i := range g.Rank {
			if !(0 <= lo[i] && lo[i] < hi[i] && hi[i] <= 1) {
				t.Fatalf("%d: from %g to %g on axis %d", x, lo[i], hi[i], i)
			}
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(int32(0), int32(0), int32(0), 3)
	f.Add(int32(-2147483642), int32(1073741832), int32(-1073741812), 3)
	f.Add(int32(2), int32(0), int32(1), 2)
	f.Add(int32(-4), int32(1), int32(-4094), 3)
	f.Fuzz(func(t *testing.T, a, b, c int32, rank int) {
		x := amr.Index{a, b, c}
		// These methods must not panic, whatever the bits are.
		_, _, _, _ = x.Coord(), x.Parent(), x.Child([3]int{1, 1, 1}), x.Array()
		roots := [3]int{amr.MaxRoots, amr.MaxRoots, amr.MaxRoots}
		name := x.Name(rank, roots)
		if err := x.Valid(rank); err != nil {
			return
		}
		if y := amr.At(x.Level(), x.Coord()); y != x {
			t.Fatalf("valid, but not the index of its coordinates: %d, %d", x, y)
		}
		y, r, err := amr.ParseName(name, roots, x.Level())
		if err != nil || y != x || r != rank {
			t.Fatalf("%d: name %s reads as %d, %d, %v", x, name, y, r, err)
		}
	})
}
