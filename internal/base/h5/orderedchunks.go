package h5

import (
	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

// Pipeline has the filters for chunks of a new dataset. The bytes of elements are shuffled, then compressed by deflate or zstd.
// The zero value has no filters.
type Pipeline struct {
	Shuffle bool
	Deflate int // level 1 to 9; 0: no deflate
	Zstd    int // level 1 to 22, as in zstd; 0: no zstd. It is HDF5's plugin filter 32015
}

// MaxZstd is the highest level of Pipeline.Zstd.
const MaxZstd = 22

// On reports whether the pipeline has a filter.
func (p Pipeline) On() bool { return p.Shuffle || p.Deflate != 0 || p.Zstd != 0 }

// Validate returns an error if the pipeline is invalid (ErrUsage).
func (p Pipeline) Validate() error {
	switch {
	case p.Deflate < 0 || p.Deflate > codec.MaxDeflate:
		return fault.Class(fault.ErrUsage, "deflate level %d, want 0 to %d", p.Deflate, codec.MaxDeflate)
	case p.Zstd < 0 || p.Zstd > MaxZstd:
		return fault.Class(fault.ErrUsage, "zstd level %d, want 0 to %d", p.Zstd, MaxZstd)
	case p.Deflate != 0 && p.Zstd != 0:
		return fault.Class(fault.ErrUsage, "deflate and zstd are both set, want only one")
	}
	return nil
}

// steps returns the filters for elements of size bytes. Elements of one byte are not shuffled.
func (p Pipeline) steps(size int64) (l []filter) {
	if p.Shuffle && size > 1 {
		l = append(l, filter{filterShuffle, []uint32{uint32(size)}})
	}
	if p.Deflate != 0 {
		l = append(l, filter{filterDeflate, []uint32{uint32(p.Deflate)}})
	}
	if p.Zstd != 0 {
		l = append(l, filter{filterZstd, []uint32{uint32(p.Zstd)}})
	}
	return l
}

// encodeFilters appends a filter pipeline message, version 2.
func encodeFilters(b []byte, l []filter) []byte {
	b = append(b, 2, byte(len(l)))
	for _, x := range l {
		b = le.AppendUint16(b, x.id)
		name := ""
		if x.id >= 256 {
			name = filterNames[x.id] + "\x00"
			b = le.AppendUint16(b, uint16(len(name)))
		}
		b = le.AppendUint16(b, 1) // optional: a chunk may skip the filter
		b = le.AppendUint16(b, uint16(len(x.args)))
		b = append(b, name...)
		for _, v := range x.args {
			b = le.AppendUint32(b, v)
		}
	}
	return b
}

// A Filterer applies a Pipeline to chunks. It is safe for concurrent use. Equal chunks give equal bytes.
type Filterer struct {
	p       Pipeline
	deflate *codec.Deflate
	zstd    *codec.Zstd
	level   int // zstd level
}

// NewFilterer returns a Filterer. The caller must call Close.
func NewFilterer(p Pipeline) (*Filterer, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	f := &Filterer{p: p}
	switch {
	case p.Deflate != 0:
		d, err := codec.NewDeflate(p.Deflate)
		if err != nil {
			return nil, err
		}
		f.deflate = d
	case p.Zstd != 0:
		f.zstd, f.level = codec.NewZstd(codec.Options{}), codec.Level(p.Zstd)
	}
	return f, nil
}

// Close frees the Filterer's resources.
func (f *Filterer) Close() {
	if f.zstd != nil {
		f.zstd.Close()
	}
}

// Encode appends the stored form of a chunk with elements of size bytes to dst. It returns the mask of skipped filters: a
// compression that saves no bytes is skipped. A scratch buffer as long as the chunk saves an allocation.
func (f *Filterer) Encode(dst, chunk, scratch []byte, size int64) (out []byte, mask uint32, err error) {
	step := 0
	if f.p.Shuffle && size > 1 {
		if len(scratch) < len(chunk) {
			scratch = make([]byte, len(chunk))
		}
		codec.Shuffle(scratch[:len(chunk)], chunk, int(size))
		chunk = scratch[:len(chunk)]
		step++
	}
	from := len(dst)
	switch {
	case f.deflate != nil:
		out, err = f.deflate.Encode(dst, chunk)
	case f.zstd != nil:
		out, err = f.zstd.Encode(dst, chunk, f.level)
	default:
		return append(dst, chunk...), 0, nil
	}
	if err != nil {
		return dst, 0, err
	}
	if len(out)-from >= len(chunk) {
		return append(out[:from], chunk...), 1 << step, nil
	}
	return out, 0, nil
}

// The chunk index of a new dataset is a version 1 B-tree whose nodes are as full as possible. Its size depends only on the number
// of chunks, so the index gets its address before the chunks are written.

// chunkTreeK is libhdf5's default: a node has up to 2*K children.
const chunkTreeK = 32

func (d *OrderedDataset) keyLen() int64 { return 8 + 8*int64(len(d.dims)+1) }

func (d *OrderedDataset) treeNodeLen() int64 {
	return 24 + (2*chunkTreeK+1)*d.keyLen() + 2*chunkTreeK*8
}

// placeTree assigns consecutive addresses to the nodes, leaves first and the root last.
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
	levels := []int64{} // number of nodes per level
	total := int64(0)
	for n := chunks; ; {
		n = ceilDiv(n, 2*chunkTreeK)
		levels = append(levels, n)
		if total += n; n == 1 {
			break
		}
	}
	at := d.tree - (total-1)*nodeLen
	below, children, span := int64(0), chunks, int64(1) // address of the first child, number of children, chunks below each
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

// key writes the key of chunk i: stored bytes, filter mask, first element. The key after the last chunk is larger than any other
// in all dimensions.
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
