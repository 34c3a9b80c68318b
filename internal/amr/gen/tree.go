package gen

import (
	"math/bits"
	"math/rand/v2"

	"blobio/internal/amr"
)

// Geometry returns the geometry of the unit cube with rank axes. roots is the number of root blocks on each axis, block the
// number of cells of a block, and ghost the number of ghost cells on each side. The finest level is maxLevel, and the coarsest is
// the level with a single block.
func Geometry(rank, roots, block, ghost, maxLevel int) amr.Geometry {
	g := amr.Geometry{Rank: rank, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Upper: [3]float64{1, 1, 1}, MaxLevel: maxLevel}
	for i := range rank {
		g.Roots[i], g.Block[i], g.Ghost[i] = roots, block, ghost
	}
	g.MinLevel = Top(g.Roots)
	return g
}

// Top returns the level, <= 0, at which one block contains all root blocks.
func Top(roots [3]int) int {
	return -bits.Len(uint(max(roots[0], roots[1], roots[2]) - 1))
}

// RefineWhere refines all leaves below MaxLevel for which where returns true. where gets the corners and the level of a leaf.
// Then RefineWhere balances the tree.
func RefineWhere(t *amr.Tree, where func(lo, hi [3]float64, level int) bool) error {
	g := t.Geometry()
	var todo []amr.Index
	for x := range t.Leaves() {
		todo = append(todo, x)
	}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l := x.Level(); l < 0 || l >= g.MaxLevel {
			continue
		}
		lo, hi := x.Bounds(g)
		if !where(lo, hi, x.Level()) {
			continue
		}
		if err := t.Refine(x); err != nil {
			return err
		}
		for c := range t.Children(x) {
			todo = append(todo, c)
		}
	}
	_, err := t.Balance()
	return err
}

// Uniform returns a tree whose leaves are all blocks of one level.
func Uniform(g *amr.Geometry, level int) (*amr.Tree, error) {
	t, err := amr.NewRootTree(g)
	if err != nil {
		return nil, err
	}
	return t, RefineWhere(t, func(_, _ [3]float64, l int) bool { return l < level })
}

// Sphere returns a tree that is refined to MaxLevel in a sphere (a circle or an interval in fewer dimensions).
func Sphere(g *amr.Geometry, center [3]float64, radius float64) (*amr.Tree, error) {
	t, err := amr.NewRootTree(g)
	if err != nil {
		return nil, err
	}
	return t, RefineWhere(t, func(lo, hi [3]float64, _ int) bool {
		near, _ := distances(g.Rank, lo, hi, center)
		return near <= radius*radius
	})
}

// Shock returns a tree that is refined to MaxLevel along a shell around the lower corner of the domain. The radius of the shell
// is time, 0 to 1, times the diagonal.
func Shock(g *amr.Geometry, time float64) (*amr.Tree, error) {
	t, err := amr.NewRootTree(g)
	if err != nil {
		return nil, err
	}
	_, far := distances(g.Rank, g.Lower, g.Upper, g.Lower)
	return t, RefineWhere(t, func(lo, hi [3]float64, _ int) bool {
		near, away := distances(g.Rank, lo, hi, g.Lower)
		at := time * time * far
		return near <= at && at <= away
	})
}

// distances returns the squares of the smallest and the largest distance of a box from p. The conversions prevent the fusion of
// products with sums, because fused operations would give other trees on some processors.
func distances(rank int, lo, hi, p [3]float64) (near, far float64) {
	for i := range rank {
		n := max(lo[i]-p[i], p[i]-hi[i], 0)
		f := max(hi[i]-p[i], p[i]-lo[i])
		near += float64(n * n)
		far += float64(f * f)
	}
	return near, far
}

// Random refines random leaves until the tree has at least n blocks on all levels together, or the maximum that the levels allow.
// Fine leaves are as likely as coarse leaves.
func Random(g *amr.Geometry, seed uint64, n int) (*amr.Tree, error) {
	t, err := amr.NewRootTree(g)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0x616d72))
	var pool []amr.Index // leaves below MaxLevel, and blocks that were refined since they were added
	for x := range t.Leaves() {
		if l := x.Level(); l >= 0 && l < g.MaxLevel {
			pool = append(pool, x)
		}
	}
	for t.Len() < n && len(pool) > 0 {
		k := r.IntN(len(pool))
		x := pool[k]
		pool[k] = pool[len(pool)-1]
		pool = pool[:len(pool)-1]
		if !t.Leaf(x) {
			// Balance has refined the block; use its children instead.
			for c := range t.Children(x) {
				if c.Level() < g.MaxLevel {
					pool = append(pool, c)
				}
			}
			continue
		}
		if _, err := t.RefineBalanced(x); err != nil {
			return nil, err
		}
		for c := range t.Children(x) {
			if c.Level() < g.MaxLevel {
				pool = append(pool, c)
			}
		}
	}
	return t, nil
}
