package h5

import (
	"bytes"
	"cmp"
	"slices"
)

// References to datasets of an Ordered, in the two forms of dimension scales.

// RefAttr adds an attribute with one element for each dataset: a list of variable length with one reference, to this dataset.
func (n *orderedNode) RefAttr(name string, to []*OrderedDataset) {
	const width = 4 + 8 + 4 // length, address of the collection, index of the object in it
	typ := []byte{0x19, 0, 0, 0, width, 0, 0, 0}
	typ = append(typ, refType...)
	first := n.b.heap.add(to)
	n.add(orderedAttr{name, typ, encodeSpace([]int64{int64(len(to))}), int64(width * len(to)), func(dst []byte) {
		for i := range to {
			b := dst[width*i:]
			addr, index := n.b.heap.spot(first + i)
			le.PutUint32(b, 1)
			le.PutUint64(b[4:], uint64(addr))
			le.PutUint32(b[12:], index)
		}
	}})
}

// refType is the datatype of an object reference, 8 bytes.
var refType = []byte{0x17, 0, 0, 0, 8, 0, 0, 0}

// A Ref is a dataset and a number.
type Ref struct {
	To    *OrderedDataset
	Index int32
}

// RefList adds an attribute of pairs {dataset, dimension}: a reference and an int32. The list must not be empty.
func (n *orderedNode) RefList(name string, l []Ref) {
	const width = 16 // size of the pair in libhdf5's memory
	typ := []byte{0x16, 2, 0, 0, width, 0, 0, 0}
	member := func(name string, off uint32, t []byte) {
		typ = pad8(append(append(typ, name...), 0)) // names are aligned to 8, like all bytes before them
		typ = le.AppendUint32(typ, off)
		typ = append(typ, make([]byte, 28)...) // no array
		typ = append(typ, t...)
	}
	member("dataset", 0, refType)
	member("dimension", 8, trimType(Int32))
	n.add(orderedAttr{name, typ, encodeSpace([]int64{int64(len(l))}), int64(width * len(l)), func(dst []byte) {
		for i, r := range l {
			le.PutUint64(dst[width*i:], uint64(r.To.addr))
			le.PutUint32(dst[width*i+8:], uint32(r.Index))
		}
	}})
}

// refHeap is the global heap: collections of objects, each a reference to a dataset.
type refHeap struct {
	to []*OrderedDataset
	at int64 // address of the first collection
}

const (
	collectionLen = 4096 // the minimum size in libhdf5
	collectionPre = 16
	heapObjectLen = 16 + 8
	perCollection = (collectionLen - collectionPre) / heapObjectLen
)

// add adds references and returns the index of the first.
func (h *refHeap) add(to []*OrderedDataset) int {
	first := len(h.to)
	h.to = append(h.to, to...)
	return first
}

func (h *refHeap) place(place func(n int64) int64) {
	h.at = place(ceilDiv(int64(len(h.to)), perCollection) * collectionLen)
}

// spot returns the address of an object's collection and its index there, from 1.
func (h *refHeap) spot(i int) (addr int64, index uint32) {
	return h.at + int64(i/perCollection)*collectionLen, uint32(i%perCollection) + 1
}

func (h *refHeap) encode(buf []byte) {
	for first := 0; first < len(h.to); first += perCollection {
		addr, _ := h.spot(first)
		b := buf[addr : addr+collectionLen]
		copy(b, "GCOL")
		b[4] = 1
		le.PutUint64(b[8:], collectionLen)
		at := collectionPre
		for i := first; i < min(first+perCollection, len(h.to)); i++ {
			_, index := h.spot(i)
			le.PutUint16(b[at:], uint16(index))
			le.PutUint64(b[at+8:], 8)
			le.PutUint64(b[at+16:], uint64(h.to[i].addr))
			at += heapObjectLen
		}
		if left := collectionLen - at; left >= 16 { // object 0 is free space
			le.PutUint64(b[at+8:], uint64(left))
		}
	}
}

// denseAttrs are the attributes of an object if at least one attribute is too long for a header message. Each is a "huge"
// object of a fractal heap without blocks, found by a B-tree of numbers. Two more B-trees find the attributes by the hash of
// the name and by creation order.
type denseAttrs struct {
	attrs           []orderedAttr
	objects         []int64 // addresses
	heap            int64
	huge            int64
	byName, byOrder int64
}

// Sizes of the structures, with addresses and lengths of 8 bytes.
const (
	fractalHeapLen = 22 + 12*8 + 3*8 + 4
	tree2Len       = 16 + 8 + 2 + 8 + 4
	leaf2Overhead  = 6 + 4 // signature, version, type; checksum
	heapIDLen      = 8     // length of a heap ID of an attribute, fixed by the format
	hugeRecord     = 8 + 8 + 8
	nameRecord     = heapIDLen + 1 + 4 + 4
	orderRecord    = heapIDLen + 1 + 4
)

func (d *denseAttrs) place(place func(n int64) int64) {
	n := int64(len(d.attrs))
	d.heap = place(fractalHeapLen)
	d.huge = place(tree2Len + leafLen(n, hugeRecord))
	d.byName = place(tree2Len + leafLen(n, nameRecord))
	d.byOrder = place(tree2Len + leafLen(n, orderRecord))
	d.objects = make([]int64, n)
	for i := range d.attrs {
		d.objects[i] = place(d.attrs[i].len())
	}
}

// leafLen returns the size of the only node of a version 2 B-tree: libhdf5's default, or more if the records need it.
func leafLen(n, record int64) int64 { return max(512, leaf2Overhead+n*record) }

func (d *denseAttrs) encode(buf []byte) {
	n := len(d.attrs)
	var huge, names, orders [][]byte
	total := int64(0)
	for i := range d.attrs {
		a, at := &d.attrs[i], d.objects[i]
		a.encode(buf[at : at+a.len()])
		total += a.len()
		id := le.AppendUint64(nil, uint64(i+1)<<8|0x10) // type huge, then the number in 7 bytes
		huge = append(huge, le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(at)), uint64(a.len())), uint64(i+1)))
		order := le.AppendUint32(append(id, 0), uint32(i)) // after the message flags
		orders = append(orders, order)
		names = append(names, le.AppendUint32(slices.Clone(order), lookup3([]byte(a.name))))
	}
	byName := make([]int, n)
	for i := range byName {
		byName[i] = i
	}
	hash := func(i int) uint32 { return le.Uint32(names[i][nameRecord-4:]) }
	slices.SortFunc(byName, func(i, j int) int {
		if c := cmp.Compare(hash(i), hash(j)); c != 0 {
			return c
		}
		return bytes.Compare([]byte(d.attrs[i].name), []byte(d.attrs[j].name))
	})
	sorted := make([][]byte, n)
	for k, i := range byName {
		sorted[k] = names[i]
	}
	encodeTree2(buf, d.huge, 1, huge, hugeRecord)
	encodeTree2(buf, d.byName, 8, sorted, nameRecord)
	encodeTree2(buf, d.byOrder, 9, orders, orderRecord)

	b := buf[d.heap : d.heap+fractalHeapLen]
	copy(b, "FRHP")
	le.PutUint16(b[5:], heapIDLen)
	b[9] = 2                        // direct blocks have checksums
	le.PutUint32(b[10:], 4096)      // objects above this length are huge; shorter objects may be huge, too
	le.PutUint64(b[14:], uint64(n)) // last number of a huge object
	le.PutUint64(b[22:], uint64(d.huge))
	le.PutUint64(b[38:], noAddr) // no free space
	le.PutUint64(b[78:], uint64(total))
	le.PutUint64(b[86:], uint64(n))
	// The doubling table that libhdf5 would use for later attributes.
	le.PutUint16(b[110:], 4)
	le.PutUint64(b[112:], 1024)
	le.PutUint64(b[120:], 65536)
	le.PutUint16(b[128:], 40)
	le.PutUint16(b[130:], 1)
	le.PutUint64(b[132:], noAddr) // no block yet
	seal(b)
}

// encodeTree2 writes the header of a version 2 B-tree, followed by its root, a leaf.
func encodeTree2(buf []byte, at int64, typ byte, records [][]byte, size int64) {
	n := int64(len(records))
	b := buf[at : at+tree2Len]
	copy(b, "BTHD")
	b[5] = typ
	le.PutUint32(b[6:], uint32(leafLen(n, size)))
	le.PutUint16(b[10:], uint16(size))
	b[14], b[15] = 100, 40 // percentages at which nodes are split and merged
	le.PutUint64(b[16:], uint64(at+tree2Len))
	le.PutUint16(b[24:], uint16(n))
	le.PutUint64(b[26:], uint64(n))
	seal(b)
	leaf := buf[at+tree2Len : at+tree2Len+leaf2Overhead+n*size]
	copy(leaf, "BTLF")
	leaf[5] = typ
	for i, r := range records {
		copy(leaf[6+int64(i)*size:], r)
	}
	seal(leaf)
}
