package amr

import (
	"fmt"
	"iter"
	"math/bits"

	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"
)

// Tree is the set of existing blocks of a mesh. The set may be incomplete; Validate finds missing blocks. A Tree is safe for
// concurrent reading after the first call of Sorted or All, but not for concurrent changes.
type Tree struct {
	g Geometry
	// nodes has an entry for each existing block, and for each parent of an existing block. Bit 8 is set if the block exists.
	// Bits 0 to 7 are set for its existing children.
	nodes  map[Index]uint16
	n      int
	levels [MaxDepth - MinLevel + 1]int
	sorted []Index // all blocks in pre-order; nil after a change
}

const (
	present  = 1 << 8
	children = present - 1
)

// NewTree returns a tree without blocks. It copies the geometry. It does not validate the geometry; Add returns errors for wrong
// geometries.
func NewTree(g *Geometry) *Tree {
	return &Tree{g: *g, nodes: map[Index]uint16{}}
}

// Grow reserves memory for n more blocks. It only makes later calls of Add faster.
func (t *Tree) Grow(n int) {
	if len(t.nodes) == 0 && n > 0 {
		t.nodes = make(map[Index]uint16, n)
	}
}

// NewRootTree checks the geometry and returns a tree of all blocks of levels MinLevel to 0.
func NewRootTree(g *Geometry) (*Tree, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	t := NewTree(g)
	for l := g.MinLevel; l <= 0; l++ {
		for x := range g.Level(l) {
			if err := t.Add(x); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// Level yields all possible blocks of a level of the domain, x fastest.
func (g *Geometry) Level(level int) iter.Seq[Index] {
	return func(yield func(Index) bool) {
		n := g.Extent(level)
		for z := range n[2] {
			for y := range n[1] {
				for x := range n[0] {
					if !yield(At(level, [3]int{x, y, z})) {
						return
					}
				}
			}
		}
	}
}

// Geometry returns the geometry of the tree; the caller must not change it.
func (t *Tree) Geometry() *Geometry { return &t.g }

// Len returns the number of blocks.
func (t *Tree) Len() int { return t.n }

// LevelLen returns the number of blocks of a level.
func (t *Tree) LevelLen(level int) int {
	if level < MinLevel || level > MaxDepth {
		return 0
	}
	return t.levels[level-MinLevel]
}

// Levels returns the coarsest and the finest level with blocks, or 0, 0 if there are none.
func (t *Tree) Levels() (lo, hi int) {
	lo, hi = 1, 0
	for i, n := range t.levels {
		if n == 0 {
			continue
		}
		if lo > hi {
			lo = i + MinLevel
		}
		hi = i + MinLevel
	}
	if lo > hi {
		return 0, 0
	}
	return lo, hi
}

// Add adds one block. The parent need not exist. If the block already exists, the error is of class ErrExist; other errors come
// from Geometry.Contains.
func (t *Tree) Add(x Index) error {
	if err := t.g.Contains(x); err != nil {
		return err
	}
	v := t.nodes[x]
	if v&present != 0 {
		return fmt.Errorf("block %s: %w", t.Name(x), fault.ErrExist)
	}
	t.nodes[x] = v | present
	if x.Level() > t.g.MinLevel {
		t.nodes[x.Parent()] |= 1 << x.ChildNumber()
	}
	t.n++
	t.levels[x.Level()-MinLevel]++
	t.sorted = nil
	return nil
}

// Has reports whether the block exists.
func (t *Tree) Has(x Index) bool { return t.nodes[x]&present != 0 }

// Look combines Has and Refined: it reports whether the block exists and whether it has children.
func (t *Tree) Look(x Index) (has, refined bool) {
	v := t.nodes[x]
	return v&present != 0, v&present != 0 && v&children != 0
}

// Leaf reports whether the block exists and has no children.
func (t *Tree) Leaf(x Index) bool { return t.nodes[x] == present }

// Refined reports whether the block exists and has children.
func (t *Tree) Refined(x Index) bool {
	v := t.nodes[x]
	return v&present != 0 && v&children != 0
}

// Refine adds the children of a leaf. The caller must keep the tree balanced (see Balance). Errors are of class ErrMissing (no
// such block), ErrExist (the block has children) and ErrRange (the block is at MaxLevel or coarser than the root blocks).
func (t *Tree) Refine(x Index) error {
	switch {
	case !t.Has(x):
		return fmt.Errorf("refine %s: %w", t.Name(x), fault.ErrMissing)
	case !t.Leaf(x):
		return fmt.Errorf("refine %s: children: %w", t.Name(x), fault.ErrExist)
	case x.Level() < 0 || x.Level() >= t.g.MaxLevel:
		return fmt.Errorf("refine %s: level %d, want 0 to %d: %w", t.Name(x), x.Level(), t.g.MaxLevel-1, fault.ErrRange)
	}
	for k := range t.g.Children() {
		if err := t.Add(x.Child(childBits(k))); err != nil {
			return err
		}
	}
	return nil
}

// Children yields the existing children of x, x fastest.
func (t *Tree) Children(x Index) iter.Seq[Index] {
	mask := t.nodes[x] & children
	return func(yield func(Index) bool) {
		for m := mask; m != 0; m &= m - 1 {
			if !yield(x.Child(childBits(bits.TrailingZeros16(m)))) {
				return
			}
		}
	}
}

func childBits(k int) [3]int { return [3]int{k & 1, k >> 1 & 1, k >> 2 & 1} }

// Sorted returns all blocks in Morton order: in pre-order, children with x fastest. The caller must not change the slice. The
// slice is valid until the tree changes.
func (t *Tree) Sorted() []Index {
	if t.sorted == nil && t.n > 0 {
		t.sorted = t.sortBy(func(_ int, x Index) sfc.Key { return mortonKey(x) })
	}
	return t.sorted
}

// Leaves yields the leaves in pre-order.
func (t *Tree) Leaves() iter.Seq[Index] {
	return func(yield func(Index) bool) {
		for _, x := range t.Sorted() {
			if t.Leaf(x) && !yield(x) {
				return
			}
		}
	}
}

// Name returns the name of a block of this tree.
func (t *Tree) Name(x Index) string { return x.Name(t.g.Rank, t.g.Roots) }
