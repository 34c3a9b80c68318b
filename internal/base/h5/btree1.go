package h5

import (
	"blobio/internal/base/fault"
	"cmp"
)

// node1 is a node of a version 1 B-tree: used children, and a key before each
// and after the last.
type node1 struct {
	f      *File
	off    int64 // absolute, of the node
	level  int
	used   int
	keyLen int
	b      []byte // keys and children, interleaved
	at     int64  // absolute, of b
}

// node1 reads a node of the given type (0 groups, 1 chunks). want is the
// level it must have, or -1 for a root: levels fall by one at each step, so
// that no descent can loop. key reads one key; its length is measured by it.
func (f *File) node1(addr int64, typ uint8, want int, key func(*cursor)) (*node1, error) {
	pre := int64(8 + 2*f.offSize)
	c := f.at(addr, pre, "B-tree node")
	c.magic("TREE")
	at := c.pos()
	got := c.u8("B-tree node type")
	n := &node1{f: f, off: c.off, at: c.off + pre}
	n.level = int(c.u8("B-tree node level"))
	n.used = int(c.u16("B-tree entries used"))
	switch {
	case c.err != nil:
		return nil, c.err
	case got != typ:
		return nil, f.errAt(at, "B-tree node type", fault.ErrCorrupt, "%d, want %d", got, typ)
	case want >= 0 && n.level != want:
		return nil, f.errAt(at+1, "B-tree node level", fault.ErrCorrupt, "%d, want %d", n.level, want)
	}
	var zero [8 + 8*(maxRank+1)]byte
	probe := f.over(zero[:], 0)
	key(probe)
	n.keyLen = probe.p
	c = f.at(addr+pre, int64(n.used)*int64(n.keyLen+f.offSize)+int64(n.keyLen), "B-tree node entries")
	n.b = c.b
	return n, c.err
}

// key returns a cursor at key i, 0 <= i <= used.
func (n *node1) key(i int) *cursor {
	p := i * (n.keyLen + n.f.offSize)
	return n.f.over(n.b[p:p+n.keyLen], n.at+int64(p))
}

// child returns the address of child i.
func (n *node1) child(i int) (int64, error) {
	p := i*(n.keyLen+n.f.offSize) + n.keyLen
	c := n.f.over(n.b[p:p+n.f.offSize], n.at+int64(p))
	a := c.addr("B-tree child address")
	if c.err == nil && a == undef {
		c.fail(c.off, "B-tree child address", fault.ErrCorrupt, "undefined")
	}
	return a, c.err
}

// child1 is a leaf entry met by a walk.
type child1 struct {
	node *node1
	i    int
	addr int64
}

// walk1 visits all leaf entries of a B-tree in order. No node is visited
// twice, so that a damaged tree cannot keep it busy for ever.
type walk1 struct {
	f    *File
	typ  uint8
	key  func(*cursor)
	seen map[int64]bool
}

func (f *File) walk1(typ uint8, key func(*cursor)) *walk1 {
	return &walk1{f: f, typ: typ, key: key, seen: make(map[int64]bool)}
}

func (w *walk1) run(root int64, visit func(child1) (bool, error)) error {
	_, err := w.node(root, -1, visit)
	return err
}

func (w *walk1) node(addr int64, level int, visit func(child1) (bool, error)) (bool, error) {
	n, err := w.f.node1(addr, w.typ, level, w.key)
	if err != nil {
		return false, err
	}
	for i := range n.used {
		a, err := n.child(i)
		if err != nil {
			return false, err
		}
		if w.seen[a] {
			return false, w.f.errAt(n.off, "B-tree child address", fault.ErrCorrupt, "%#x is reached twice", a)
		}
		w.seen[a] = true
		var more bool
		if n.level > 0 {
			more, err = w.node(a, n.level-1, visit)
		} else {
			more, err = visit(child1{n, i, a})
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// chunkKey reads a key of a chunk tree: stored size, filter mask, offsets.
func chunkKey(rank int) func(*cursor) {
	return func(c *cursor) { c.skip(int64(8+8*(rank+1)), "chunk key") }
}

// comparePlace compares numbers of 8 bytes with a place, in order of dimensions.
func comparePlace(b []byte, want []int64) int {
	for i, w := range want {
		if c := cmp.Compare(int64(le.Uint64(b[8*i:])), w); c != 0 {
			return c
		}
	}
	return 0
}
