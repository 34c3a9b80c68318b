package h5

import (
	"bytes"
	"cmp"
	"slices"
)

// denseAttrs are the attributes of an object of which one is too long for a message of the object header. They are
// objects of a fractal heap that has no blocks: each lies by itself ("huge"), found by a B-tree of numbers. Two more
// B-trees find them by the hash of the name and by the order of creation.
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
	heapIDLen      = 8     // of attributes, always
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

// leafLen is the size of the only node of a version 2 B-tree: one that libhdf5 would choose, or what the records need.
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
		order := le.AppendUint32(append(id, 0), uint32(i)) // behind the flags of the message
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
	le.PutUint32(b[10:], 4096)      // what is longer is huge; shorter objects may be, too
	le.PutUint64(b[14:], uint64(n)) // the last number of a huge object
	le.PutUint64(b[22:], uint64(d.huge))
	le.PutUint64(b[38:], noAddr) // no free space
	le.PutUint64(b[78:], uint64(total))
	le.PutUint64(b[86:], uint64(n))
	// The table of blocks that libhdf5 uses for attributes, if it ever adds some.
	le.PutUint16(b[110:], 4)
	le.PutUint64(b[112:], 1024)
	le.PutUint64(b[120:], 65536)
	le.PutUint16(b[128:], 40)
	le.PutUint16(b[130:], 1)
	le.PutUint64(b[132:], noAddr) // no block yet
	seal(b)
}

// encodeTree2 writes the header of a version 2 B-tree and behind it the root, a leaf.
func encodeTree2(buf []byte, at int64, typ byte, records [][]byte, size int64) {
	n := int64(len(records))
	b := buf[at : at+tree2Len]
	copy(b, "BTHD")
	b[5] = typ
	le.PutUint32(b[6:], uint32(leafLen(n, size)))
	le.PutUint16(b[10:], uint16(size))
	b[14], b[15] = 100, 40 // per cent at which nodes are split and merged
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
