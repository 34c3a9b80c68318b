package amr

import (
	"cmp"
	"slices"

	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"
)

// Ordering arranges all blocks of a tree in a sequence, including refined blocks and blocks of levels below 0. A parent comes
// before its children.
type Ordering interface {
	// Name returns the name of the ordering in parameter files, such as "order_morton".
	Name() string
	// Order returns all blocks of the tree, each once. The caller owns the slice.
	Order(t *Tree) []Index
}

// Morton is Cello's order_morton: depth first, a parent before its children, children with x fastest.
type Morton struct{}

// Name returns "order_morton".
func (Morton) Name() string { return "order_morton" }

// Order implements Ordering.
func (Morton) Order(t *Tree) []Index { return slices.Clone(t.Sorted()) }

// Hilbert is Cello's order_hilbert: like Morton, but with children in the order of a Hilbert curve. The orientation of the curve
// depends on MinLevel.
type Hilbert struct{}

// Name returns "order_hilbert".
func (Hilbert) Name() string { return "order_hilbert" }

// Order implements Ordering.
func (Hilbert) Order(t *Tree) []Index {
	rank := t.g.Rank
	return t.sortBy(func(l int, x Index) sfc.Key { return hilbertKey(rank, l, x) })
}

// RootBlocks is the order of Cello's older partition, in which a root block stays together with all its descendants. Root blocks
// are in the order of their numbers, x fastest, and the blocks of each octree are in Morton order. Blocks of levels below 0 come
// first, the coarsest at the front.
type RootBlocks struct{}

// Name returns "order_roots".
func (RootBlocks) Name() string { return "order_roots" }

// Order implements Ordering.
func (RootBlocks) Order(t *Tree) []Index {
	out := slices.Clone(t.Sorted())
	// Sorted returns Morton order. A stable sort by octree number preserves this order within each octree.
	slices.SortStableFunc(out, func(x, y Index) int {
		lx, ly := min(x.Level(), 0), min(y.Level(), 0)
		if c := cmp.Compare(lx, ly); c != 0 {
			return c
		}
		a, b := x.Array(), y.Array()
		for i := 2; i >= 0; i-- {
			if c := cmp.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return out
}

// OrderingByName returns the ordering with the name "order_morton", "order_hilbert" or "order_roots". The prefix "order_" may be
// omitted.
func OrderingByName(name string) (Ordering, error) {
	for _, o := range []Ordering{Morton{}, Hilbert{}, RootBlocks{}} {
		if name == o.Name() || "order_"+name == o.Name() {
			return o, nil
		}
	}
	return nil, fault.Usage("ordering %q, want morton, hilbert or roots", name)
}

// coordBits is the number of index bits that the curves use.
const coordBits = arrayBits + treeBits

// point returns the 30-bit coordinates of the block's lower corner in units of
// the finest level.
func (x Index) point() [3]uint32 {
	var p [3]uint32
	for i, w := range x {
		p[i] = arrayOf(w)<<treeBits | treeOf(w)
	}
	return p
}

// mortonKey returns the position of the block on the Morton curve: the interleaved bits of its lower corner. A block has the same
// key as the descendants in its lower corner. The coarser block comes first.
func mortonKey(x Index) sfc.Key { return sfc.Morton(coordBits, x.point()) }

func hilbertKey(rank, level int, x Index) sfc.Key {
	return sfc.HilbertPrefix(rank, coordBits, arrayBits+level, x.point())
}

// sortBy sorts all blocks by key and level.
func (t *Tree) sortBy(key func(level int, x Index) sfc.Key) []Index {
	type item struct {
		k sfc.Key
		l int8
		x Index
	}
	items := make([]item, 0, t.n)
	for x, v := range t.nodes {
		if v&present != 0 {
			l := x.Level()
			items = append(items, item{key(l, x), int8(l), x})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		if c := a.k.Compare(b.k); c != 0 {
			return c
		}
		return cmp.Compare(a.l, b.l)
	})
	out := make([]Index, len(items))
	for i := range items {
		out[i] = items[i].x
	}
	return out
}
