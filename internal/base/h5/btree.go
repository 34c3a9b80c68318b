package h5

import (
	"cmp"

	"blobio/internal/base/fault"
)

// node1 is a node of a version 1 B-tree: used children, with a key before each and one after the last.
type node1 struct {
	f      *File
	off    int64 // absolute offset of the node
	level  int
	used   int
	keyLen int
	b      []byte // keys and children, interleaved
	at     int64  // absolute offset of b
}

// node1 reads a node of the given type (0 groups, 1 chunks). want is the required level, or -1 for a root. Levels fall by one at
// each step, so no descent can loop. key reads one key; node1 calls it once to find the length of a key.
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

func (n *node1) child(i int) (int64, error) {
	p := i*(n.keyLen+n.f.offSize) + n.keyLen
	c := n.f.over(n.b[p:p+n.f.offSize], n.at+int64(p))
	a := c.addr("B-tree child address")
	if c.err == nil && a == undef {
		c.fail(c.off, "B-tree child address", fault.ErrCorrupt, "the address is undefined")
	}
	return a, c.err
}

// child1 is a leaf entry visited by a walk.
type child1 struct {
	node *node1
	i    int
	addr int64
}

// walk1 visits all leaf entries of a B-tree in order. It visits no node twice, so a damaged tree cannot make it loop.
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
			return false, w.f.errAt(n.off, "B-tree child address", fault.ErrCorrupt, "two pointers lead to %#x", a)
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

// comparePlace compares 8-byte numbers with a grid index, dimension by dimension.
func comparePlace(b []byte, want []int64) int {
	for i, w := range want {
		if c := cmp.Compare(int64(le.Uint64(b[8*i:])), w); c != 0 {
			return c
		}
	}
	return 0
}

// tree2 is a version 2 B-tree: records of a fixed size in inner nodes and leaves.
type tree2 struct {
	f       *File
	off     int64 // absolute offset of the header
	rec     int   // bytes per record
	depth   int   // 0: the root is a leaf
	root    int64
	rootN   int // number of records in the root
	nodeLen int64

	// most and sumLen are indexed by the depth of a node: the maximum of records in the node, and the bytes of the count of all
	// records below a child.
	most   []int64
	sumLen []int
	numLen int // bytes of the record count of a child
}

// tree2 reads the header of a B-tree of the given record type.
func (f *File) tree2(addr int64, typ uint8) (*tree2, error) {
	n := int64(16 + f.offSize + 2 + f.lenSize + 4)
	c := f.sealed(addr, n, "v2 B-tree header")
	c.magic("BTHD")
	c.version(0, "v2 B-tree version")
	at := c.pos()
	if got := c.u8("v2 B-tree type"); c.err == nil && got != typ {
		c.fail(at, "v2 B-tree type", fault.ErrCorrupt, "%d, want %d", got, typ)
	}
	at = c.pos()
	t := &tree2{f: f, off: c.off, nodeLen: int64(c.u32("v2 B-tree node size"))}
	t.rec = int(c.u16("v2 B-tree record size"))
	t.depth = int(c.u16("v2 B-tree depth"))
	c.skip(2, "v2 B-tree percentages")
	t.root = c.addr("v2 B-tree root address")
	t.rootN = int(c.u16("v2 B-tree root records"))
	c.length("v2 B-tree records")
	if c.err != nil {
		return nil, c.err
	}
	if t.rec == 0 || t.depth > maxDepth || t.nodeLen > maxMeta {
		return nil, f.errAt(at, "v2 B-tree header", fault.ErrCorrupt, "nodes of %d bytes, records of %d bytes or depth %d are invalid", t.nodeLen, t.rec, t.depth)
	}
	return t, t.limits(at)
}

// limits computes the widths of the counts in inner nodes. Each count is wide enough for its maximum.
func (t *tree2) limits(at int64) error {
	const overhead = 10 // signature, version, type and checksum
	t.most = []int64{(t.nodeLen - overhead) / int64(t.rec)}
	t.sumLen = []int{0}
	sum := uint64(max(t.most[0], 0))
	t.numLen = encLen(sum)
	for d := 1; d <= t.depth; d++ {
		ptr := int64(t.f.offSize + t.numLen + t.sumLen[d-1])
		most := (t.nodeLen - overhead - ptr) / (int64(t.rec) + ptr)
		if most < 1 || sum > 1<<62/uint64(most+1) {
			return t.f.errAt(at, "v2 B-tree node size", fault.ErrCorrupt, "%d bytes do not fit records of %d bytes at depth %d", t.nodeLen, t.rec, t.depth)
		}
		sum = uint64(most+1)*sum + uint64(most)
		t.most = append(t.most, most)
		t.sumLen = append(t.sumLen, encLen(sum))
	}
	return nil
}

// record is the bytes of a record and their offset.
type record struct {
	b   []byte
	off int64
}

// walk visits in order the records for which cmp returns 0. cmp compares a record with the wanted one and must not decrease along
// the order. No node is visited twice. visit returns false to end the walk.
func (t *tree2) walk(cmp func(record) int, visit func(record) (bool, error)) error {
	if t.root == undef {
		return nil
	}
	w := &walk2{t: t, cmp: cmp, visit: visit, seen: make(map[int64]bool)}
	_, err := w.node(t.root, t.rootN, t.depth)
	return err
}

func anyRecord(record) int { return 0 }

type walk2 struct {
	t     *tree2
	cmp   func(record) int
	visit func(record) (bool, error)
	seen  map[int64]bool
}

func (w *walk2) node(addr int64, n, depth int) (bool, error) {
	t := w.t
	f := t.f
	if int64(n) > t.most[depth] {
		return false, f.errAt(t.off, "v2 B-tree node", fault.ErrCorrupt, "%d records at %#x, want at most %d", n, addr, t.most[depth])
	}
	if w.seen[addr] {
		return false, f.errAt(t.off, "v2 B-tree child address", fault.ErrCorrupt, "two pointers lead to %#x", addr)
	}
	w.seen[addr] = true
	size, magic := int64(6+n*t.rec+4), "BTLF"
	ptr := f.offSize + t.numLen
	if depth > 0 {
		magic = "BTIN"
		ptr += t.sumLen[depth-1]
		size += int64(n+1) * int64(ptr)
	}
	c := f.sealed(addr, size, "v2 B-tree node")
	c.magic(magic)
	c.version(0, "v2 B-tree node version")
	c.u8("v2 B-tree node type")
	recs := make([]record, n)
	for i := range recs {
		recs[i].off = c.pos()
		recs[i].b = c.take(int64(t.rec), "v2 B-tree record")
	}
	if c.err != nil {
		return false, c.err
	}
	before := -1 // result of cmp for the record before the child
	for i := 0; i <= n; i++ {
		after := 1
		if i < n {
			after = w.cmp(recs[i])
		}
		if depth > 0 {
			child := c.addr("v2 B-tree child address")
			k := c.num(t.numLen, "v2 B-tree child records")
			c.uvar(t.sumLen[depth-1], "v2 B-tree records below child")
			if c.err != nil {
				return false, c.err
			}
			if before <= 0 && after >= 0 {
				if more, err := w.node(child, int(min(k, 1<<30)), depth-1); err != nil || !more {
					return false, err
				}
			}
		}
		before = after
		if i < n && after == 0 {
			if more, err := w.visit(recs[i]); err != nil || !more {
				return false, err
			}
		}
		if after > 0 {
			break
		}
	}
	return true, nil
}
