package h5

// References to datasets of an Ordered, in the two forms that dimension scales use.

// RefAttr adds an attribute with one element for each dataset: a list of variable length that holds a reference to it.
func (n *orderedNode) RefAttr(name string, to []*OrderedDataset) {
	const width = 4 + 8 + 4 // length, address of the collection, number of the object in it
	typ := []byte{0x19, 0, 0, 0, width, 0, 0, 0}
	typ = append(typ, refType...)
	first := n.b.heap.add(to)
	n.add(orderedAttr{name, typ, encodeSpace(nil, []int64{int64(len(to))}), int64(width * len(to)), func(dst []byte) {
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

// RefList adds an attribute of pairs {dataset, dimension}: a reference and an int32. The list must have an element.
func (n *orderedNode) RefList(name string, l []Ref) {
	const width = 16 // as the pair lies in memory for libhdf5
	typ := []byte{0x16, 2, 0, 0, width, 0, 0, 0}
	member := func(name string, off uint32, t []byte) {
		typ = pad8(append(append(typ, name...), 0)) // names begin at a multiple of 8, as all before them does
		typ = le.AppendUint32(typ, off)
		typ = append(typ, make([]byte, 28)...) // no array
		typ = append(typ, t...)
	}
	member("dataset", 0, refType)
	member("dimension", 8, trimType(Int32))
	n.add(orderedAttr{name, typ, encodeSpace(nil, []int64{int64(len(l))}), int64(width * len(l)), func(dst []byte) {
		for i, r := range l {
			le.PutUint64(dst[width*i:], uint64(r.To.addr))
			le.PutUint32(dst[width*i+8:], uint32(r.Index))
		}
	}})
}

// refHeap is the global heap: collections of objects, each a reference to a dataset.
type refHeap struct {
	to []*OrderedDataset
	at int64 // of the first collection
}

const (
	collectionLen = 4096 // the smallest that libhdf5 makes
	collectionPre = 16
	heapObjectLen = 16 + 8
	perCollection = (collectionLen - collectionPre) / heapObjectLen
)

// add returns the number of the first object.
func (h *refHeap) add(to []*OrderedDataset) int {
	first := len(h.to)
	h.to = append(h.to, to...)
	return first
}

func (h *refHeap) place(place func(n int64) int64) {
	h.at = place(ceilDiv(int64(len(h.to)), perCollection) * collectionLen)
}

// spot is the address of an object's collection, and its number there, from 1.
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
		if left := collectionLen - at; left >= 16 { // object 0 is the free space
			le.PutUint64(b[at+8:], uint64(left))
		}
	}
}
