package h5

// The index of the chunks of a dataset that is written: a version 1 B-tree, all nodes as full as they go. Its size follows
// from the number of chunks, so that it has its place before any chunk has.

// chunkTreeK is the default of libhdf5: a node has up to 2 K children.
const chunkTreeK = 32

func (d *OrderedDataset) keyLen() int64 { return 8 + 8*int64(len(d.dims)+1) }

func (d *OrderedDataset) treeNodeLen() int64 {
	return 24 + (2*chunkTreeK+1)*d.keyLen() + 2*chunkTreeK*8
}

// placeTree gives the nodes one place in a row, leaves first; the root is the last.
func (d *OrderedDataset) placeTree(place func(n int64) int64) {
	nodes := int64(0)
	for n := int64(len(d.refs)); ; {
		n = ceilDiv(n, 2*chunkTreeK)
		nodes += n
		if n == 1 {
			break
		}
	}
	d.tree = place(nodes*d.treeNodeLen()) + (nodes-1)*d.treeNodeLen()
}

// encodeTree writes the nodes level by level.
func (d *OrderedDataset) encodeTree(buf []byte) {
	nodeLen, keyLen := d.treeNodeLen(), d.keyLen()
	chunks := int64(len(d.refs))
	levels := []int64{} // nodes of each
	total := int64(0)
	for n := chunks; ; {
		n = ceilDiv(n, 2*chunkTreeK)
		levels = append(levels, n)
		if total += n; n == 1 {
			break
		}
	}
	at := d.tree - (total-1)*nodeLen
	below, children, span := int64(0), chunks, int64(1) // address of the first child, their number, chunks below each
	for level, nodes := range levels {
		for i := range nodes {
			b := buf[at+i*nodeLen : at+(i+1)*nodeLen]
			first := i * 2 * chunkTreeK
			k := min(2*chunkTreeK, children-first)
			copy(b, "TREE")
			b[4], b[5] = 1, byte(level)
			le.PutUint16(b[6:], uint16(k))
			left, right := noAddr, noAddr
			if i > 0 {
				left = uint64(at + (i-1)*nodeLen)
			}
			if i < nodes-1 {
				right = uint64(at + (i+1)*nodeLen)
			}
			le.PutUint64(b[8:], left)
			le.PutUint64(b[16:], right)
			for j := range k + 1 {
				p := b[24+j*(keyLen+8):]
				d.key(p[:keyLen], (first+j)*span)
				if j == k {
					break
				}
				child := uint64(below + (first+j)*nodeLen)
				if level == 0 {
					child = uint64(d.refs[first+j].addr)
				}
				le.PutUint64(p[keyLen:], child)
			}
		}
		below, children, span = at, nodes, span*2*chunkTreeK
		at += nodes * nodeLen
	}
}

// key writes the key of chunk i: stored bytes, mask of filters, first element. The one behind the last chunk is greater
// than any in all dimensions.
func (d *OrderedDataset) key(b []byte, i int64) {
	end := i >= int64(len(d.refs))
	if end {
		i = int64(len(d.refs)) - 1
	} else {
		le.PutUint32(b, uint32(d.refs[i].size))
		le.PutUint32(b[4:], d.refs[i].mask)
	}
	for k := len(d.dims) - 1; k >= 0; k-- {
		c := d.o.Chunk[k]
		n := ceilDiv(d.dims[k], c)
		at := i % n
		i /= n
		if end {
			at++
		}
		le.PutUint64(b[8+8*k:], uint64(at*c))
	}
	if end {
		le.PutUint64(b[8+8*len(d.dims):], uint64(d.typ.Size()))
	}
}
