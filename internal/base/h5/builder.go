package h5

import (
	"slices"
	"strings"

	"blobio/internal/base/fault"
)

// Builder collects the datasets, attributes and stamps of a new file, all in its root group. Layout checks everything and returns
// the first error. Only one goroutine may use a Builder.
type Builder struct {
	node
	datasets []*DatasetBuilder
	stamps   []*Stamp
	tab      table // table of the root group, set by Layout
	err      error
	done     bool

	reserve, reserveAlign int64 // bytes reserved for the data of stamps
}

// NewBuilder returns a builder with an empty root group.
func NewBuilder() *Builder {
	b := &Builder{}
	b.b = b
	return b
}

// fail records the first error for Layout.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// node is the object header, common to groups and datasets.
type node struct {
	b     *Builder
	name  string
	attrs []attrSpec

	addr   int64 // address of the object header
	blocks []int // bytes in each message block of the header
}

// attrSpec is an attribute to write, with its encoded message.
type attrSpec struct {
	name string
	body []byte
}

// Attr adds an attribute. A nil dims means a scalar; otherwise dims is the shape in elements, slowest dimension first, of rank at
// most 32. value is a number, a string, or a slice of numbers or strings with as many elements as the shape. String types take
// string or []string. Other types take numbers of any Go type; a number that does not fit is ErrRange. The value is copied. An
// attribute has at most 65,528 bytes including name and shape, and an object has at most 65,000 attributes.
func (n *node) Attr(name string, t Type, dims []int64, value any) {
	body, err := encodeAttr(name, t, dims, value)
	if err != nil {
		n.b.fail(fault.Class(err, "attribute %q of %q", name, n.name))
		return
	}
	n.attrs = append(n.attrs, attrSpec{name, body})
}

// DatasetOptions are options of Builder.Dataset. nil means the defaults.
type DatasetOptions struct {
	// Align is the alignment of the data in the file, in bytes. Default: the size of a number, 1 for strings.
	Align int64
}

// Dataset adds a dataset with contiguous data. A nil dims means a scalar; otherwise dims is the shape in elements, slowest
// dimension first, of rank at most 32. Sizes may be 0. The name must not be empty or "." and must not contain "/" or zero bytes.
func (b *Builder) Dataset(name string, t Type, dims []int64, o *DatasetOptions) *DatasetBuilder {
	d := &DatasetBuilder{node: node{b: b, name: name}, typ: t, dims: slices.Clone(dims), off: -1}
	b.checkName(name)
	if t.Numeric() {
		d.align = t.Size()
	}
	if o != nil && o.Align != 0 {
		d.align = o.Align
	}
	d.align = max(d.align, 1)
	if o != nil && (o.Align < 0 || o.Align > 1<<40) {
		b.fail(fault.Class(fault.ErrUsage, "dataset %q: alignment %d, want 1 to 2^40", name, o.Align))
	}
	if err := checkShape(t, dims); err != nil {
		b.fail(fault.Class(err, "dataset %q", name))
	}
	b.datasets = append(b.datasets, d)
	return d
}

// checkName checks the name of a member of a group.
func (b *Builder) checkName(name string) {
	if err := checkMember(name); err != nil {
		b.fail(err)
	}
}

func checkMember(name string) error {
	if name == "" || name == "." || len(name) >= maxName || strings.ContainsAny(name, "/\x00") {
		return fault.Class(fault.ErrUsage, "member %q, want a name of 1 to %d bytes without '/' and NUL", name, maxName-1)
	}
	return nil
}

func checkAttr(name string) error {
	if name == "" || len(name) > 1<<15 || strings.ContainsRune(name, 0) {
		return fault.Class(fault.ErrUsage, "name of %d bytes, want 1 to %d without NUL", len(name), 1<<15)
	}
	return nil
}

// DatasetBuilder is a dataset to write.
type DatasetBuilder struct {
	node
	typ   Type
	dims  []int64
	align int64
	off   int64
	size  int64
}

// Offset returns the absolute file offset of the data, or -1 before Layout.
func (d *DatasetBuilder) Offset() int64 { return d.off }

// Bytes returns the size of the data, set by Layout.
func (d *DatasetBuilder) Bytes() int64 { return d.size }

// checkShape returns the error class of a type and shape, or nil if they are valid.
func checkShape(t Type, dims []int64) error {
	if !t.Numeric() && t.Class() != ClassString || t.BigEndian() || t.Class() == ClassEnum || t == Float16 || t.Size() == 0 {
		return fault.Class(fault.ErrUnsupported, "cannot write type %s", t)
	}
	if len(dims) > maxRank {
		return fault.Class(fault.ErrUsage, "rank %d, want at most %d", len(dims), maxRank)
	}
	n, ok := elems(dims)
	if !ok || n > (1<<62)/t.Size() {
		return fault.Class(fault.ErrUsage, "shape %v of %s, want sizes of at least 0 and less than 2^62 bytes", dims, t)
	}
	return nil
}

// table is the symbol table of a group to write: levels of B-tree nodes above symbol nodes, all as full as possible.
type table struct {
	members []tableMember // sorted by name
	heapLen int64
	tree    int64   // address of the root node
	heap    int64   // address of the local heap
	nodes   int64   // address of the first symbol node
	levels  []int64 // nodes per level of the tree, leaves first
	names   []int64 // heap offset of each member's name
}

type tableMember struct {
	*node
	tab *table // table of a group; nil for a dataset
}

// sortMembers fills members. A repeated name is ErrExist.
func (b *Builder) sortMembers() error {
	b.tab.members = nil
	for _, d := range b.datasets {
		b.tab.members = append(b.tab.members, tableMember{&d.node, nil})
	}
	for _, s := range b.stamps {
		b.tab.members = append(b.tab.members, tableMember{&s.node, &s.tab})
	}
	slices.SortFunc(b.tab.members, func(x, y tableMember) int { return strings.Compare(x.name, y.name) })
	for i, m := range b.tab.members {
		if i > 0 && b.tab.members[i-1].name == m.name {
			return fault.Class(fault.ErrExist, "two members are named %q", m.name)
		}
	}
	return nil
}

// place assigns addresses from at to the parts of the table and returns the address after them. The order is: local heap header
// and data, B-tree nodes from the leaves up, symbol nodes.
func (t *table) place(at int64) int64 {
	t.heap = at
	t.heapLen = 8 // offset 0 has the empty name
	t.names = make([]int64, len(t.members))
	for i, m := range t.members {
		t.names[i] = t.heapLen
		t.heapLen += (int64(len(m.name)) + 8) &^ 7
	}
	at += localHeapLen + t.heapLen
	n := ceilDiv(int64(len(t.members)), 2*groupLeafK)
	symbolNodes := n
	t.levels = nil
	for {
		n = max(1, ceilDiv(n, 2*groupInternalK))
		t.levels = append(t.levels, n)
		t.tree = at + (n-1)*groupNodeLen
		at += n * groupNodeLen
		if n == 1 {
			break
		}
	}
	t.nodes = at
	return at + symbolNodes*symbolNodeLen
}

// encode writes the table into buf, which begins at file offset 0.
func (t *table) encode(buf []byte) {
	b := buf[t.heap:]
	copy(b, "HEAP")
	le.PutUint64(b[8:], uint64(t.heapLen))
	le.PutUint64(b[16:], 1) // no free block
	le.PutUint64(b[24:], uint64(t.heap+localHeapLen))
	for i, m := range t.members {
		copy(b[localHeapLen+t.names[i]:], m.name)
	}
	n := int64(len(t.members))
	for i := int64(0); i < n; i += 2 * groupLeafK {
		k := min(2*groupLeafK, n-i)
		b := buf[t.nodes+i/(2*groupLeafK)*symbolNodeLen:]
		copy(b, "SNOD")
		b[4] = 1
		le.PutUint16(b[6:], uint16(k))
		for j := range k {
			t.entry(b[8+j*symbolEntryLen:], i+j)
		}
	}
	t.encodeTree(buf)
}

// entry writes the symbol entry of member i. The entry of a group caches its table.
func (t *table) entry(b []byte, i int64) {
	le.PutUint64(b, uint64(t.names[i]))
	le.PutUint64(b[8:], uint64(t.members[i].addr))
	if g := t.members[i].tab; g != nil {
		le.PutUint32(b[16:], 1)
		le.PutUint64(b[24:], uint64(g.tree))
		le.PutUint64(b[32:], uint64(g.heap))
	}
}

// encodeTree writes the nodes level by level. The children of all nodes of a level are consecutive in the file.
func (t *table) encodeTree(buf []byte) {
	child, childLen := t.nodes, int64(symbolNodeLen)
	children := ceilDiv(int64(len(t.members)), 2*groupLeafK)
	span := int64(2 * groupLeafK) // members below each child
	at := t.heap + localHeapLen + t.heapLen
	for level, nodes := range t.levels {
		for i := range nodes {
			b := buf[at+i*groupNodeLen:]
			first := i * 2 * groupInternalK
			k := min(2*groupInternalK, children-first)
			copy(b, "TREE")
			b[5] = byte(level)
			le.PutUint16(b[6:], uint16(k))
			left, right := undef, undef
			if i > 0 {
				left = at + (i-1)*groupNodeLen
			}
			if i < nodes-1 {
				right = at + (i+1)*groupNodeLen
			}
			le.PutUint64(b[8:], uint64(left))
			le.PutUint64(b[16:], uint64(right))
			le.PutUint64(b[24:], uint64(t.key(first*span)))
			for j := range k {
				le.PutUint64(b[32+16*j:], uint64(child+(first+j)*childLen))
				le.PutUint64(b[40+16*j:], uint64(t.key((first+j+1)*span)))
			}
		}
		child, childLen = at, groupNodeLen
		at += nodes * groupNodeLen
		children, span = nodes, span*2*groupInternalK
	}
}

// key returns the heap offset of the largest name among the first n members.
func (t *table) key(n int64) int64 {
	n = min(n, int64(len(t.members)))
	if n == 0 {
		return 0
	}
	return t.names[n-1]
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
