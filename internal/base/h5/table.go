package h5

import (
	"blobio/internal/base/fault"
	"slices"
	"strings"
)

// table is the symbol table of a group to be written: one level of B-tree
// nodes over the other, all as full as they go, above symbol nodes.
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
	tab *table // of a group; nil: a dataset
}

// sortMembers fills members; two of one name have ErrExist.
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
			return fault.Class(fault.ErrExist, "two members %q", m.name)
		}
	}
	return nil
}

// place gives the parts of the table their addresses from at on and returns
// the address after them. Order: local heap header and data, B-tree nodes from
// the leaves up, symbol nodes.
func (t *table) place(at int64) int64 {
	t.heap = at
	t.heapLen = 8 // offset 0 is the empty name
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

// encode writes the table into buf, which is the file from offset 0.
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

// entry writes the symbol entry of member i. Groups have their table cached.
func (t *table) entry(b []byte, i int64) {
	le.PutUint64(b, uint64(t.names[i]))
	le.PutUint64(b[8:], uint64(t.members[i].addr))
	if g := t.members[i].tab; g != nil {
		le.PutUint32(b[16:], 1)
		le.PutUint64(b[24:], uint64(g.tree))
		le.PutUint64(b[32:], uint64(g.heap))
	}
}

// encodeTree writes the nodes level by level. A node's children, and those of
// all nodes of a level together, are consecutive in the file.
func (t *table) encodeTree(buf []byte) {
	child, childLen := t.nodes, int64(symbolNodeLen)
	children := ceilDiv(int64(len(t.members)), 2*groupLeafK)
	span := int64(2 * groupLeafK) // members below one child
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

// key is the heap offset of the greatest name among the first n members.
func (t *table) key(n int64) int64 {
	n = min(n, int64(len(t.members)))
	if n == 0 {
		return 0
	}
	return t.names[n-1]
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
