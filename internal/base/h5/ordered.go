package h5

import (
	"blobio/internal/base/fault"
	"slices"
)

// Ordered collects a file in the form of HDF5 1.8 and later: metadata with checksums, and one group. Datasets and attributes keep
// their creation order. Datasets may grow, have filtered chunks, and refer to each other. netCDF-4 needs all of these.
//
// The metadata are at the start, so that a reader finds them in a few reads. They are written last, when the offset of each chunk
// is known. Layout checks everything and returns the first error. Only one goroutine may use an Ordered.
type Ordered struct {
	orderedNode // attributes of the root group
	sets        []*OrderedDataset
	names       map[string]bool
	heap        refHeap
	chunks      int64 // number of chunks of all datasets
	err         error
	meta        int64 // bytes of metadata; 0 before Layout
	data        int64 // end of the data of contiguous datasets
}

// maxChunks is the maximum of chunks in a file: the index of each takes at least 32 bytes.
const maxChunks = maxMetaFile / 32

// NewOrdered returns a file without datasets.
func NewOrdered() *Ordered {
	b := &Ordered{names: map[string]bool{}}
	b.orderedNode = orderedNode{b: b, name: "/"}
	return b
}

func (b *Ordered) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// OrderedOptions are options of Ordered.Dataset. nil means the defaults.
type OrderedOptions struct {
	Grow    bool     // the first dimension has no limit; requires chunks
	Chunk   []int64  // shape of a chunk in elements; nil: contiguous data
	Filters Pipeline // filters of chunks
	Fill    []byte   // one element, little-endian; nil: zero, the default of HDF5
	Empty   bool     // no data are stored; all elements read as the fill value
}

// OrderedDataset is a dataset of an Ordered.
type OrderedDataset struct {
	orderedNode
	typ    Type
	dims   []int64
	o      OrderedOptions
	refs   []chunkRef // chunks in row-major order of their grid
	tree   int64      // address of the root of the chunk index
	off    int64      // offset of contiguous data
	filter []filter
}

// Dataset adds a dataset. A nil dims means a scalar; otherwise dims is the shape in elements, slowest dimension first. The name
// is UTF-8, of 1 to 65,535 bytes, without "/" and zero bytes, and not ".".
func (b *Ordered) Dataset(name string, t Type, dims []int64, o *OrderedOptions) *OrderedDataset {
	d := &OrderedDataset{orderedNode: orderedNode{b: b, name: name}, typ: t, dims: slices.Clone(dims), off: undef, tree: undef}
	if o != nil {
		d.o = *o
	}
	if err := checkMember(name); err != nil {
		b.fail(err)
	}
	if b.names[name] {
		b.fail(fault.Class(fault.ErrExist, "two datasets are named %q", name))
	}
	b.names[name] = true
	if err := d.check(); err != nil {
		b.fail(fault.Class(err, "dataset %q", name))
	}
	b.sets = append(b.sets, d)
	return d
}

func (d *OrderedDataset) check() error {
	if err := checkShape(d.typ, d.dims); err != nil {
		return err
	}
	if n := len(d.o.Fill); n != 0 && int64(n) != d.typ.Size() {
		return fault.Class(fault.ErrUsage, "fill value of %d bytes, want %d", n, d.typ.Size())
	}
	if d.o.Chunk == nil {
		if d.o.Grow || d.o.Filters.On() {
			return fault.Class(fault.ErrUsage, "a dataset that grows or has filters needs a chunk shape")
		}
		return nil
	}
	if len(d.o.Chunk) != len(d.dims) || len(d.dims) == 0 {
		return fault.Class(fault.ErrUsage, "chunk shape %v and shape %v have different ranks", d.o.Chunk, d.dims)
	}
	if err := d.o.Filters.Validate(); err != nil {
		return err
	}
	d.filter = d.o.Filters.steps(d.typ.Size())
	bytes, count := d.typ.Size(), int64(1)
	for i, c := range d.o.Chunk {
		if c < 1 || c > maxChunk/bytes {
			return fault.Class(fault.ErrUsage, "chunk shape %v of %s, want lengths of at least 1 and at most %d bytes", d.o.Chunk, d.typ, maxChunk)
		}
		bytes *= c
		n := ceilDiv(d.dims[i], c)
		if n > 0 && count > maxChunks/n {
			return fault.Class(fault.ErrTooLarge, "chunks %v of shape %v give more than %d chunks", d.o.Chunk, d.dims, maxChunks)
		}
		count *= n
	}
	if d.o.Empty {
		return nil
	}
	if d.b.chunks += count; d.b.chunks > maxChunks {
		return fault.Class(fault.ErrTooLarge, "the file has more than %d chunks", maxChunks)
	}
	d.refs = make([]chunkRef, count)
	return nil
}

// Chunks returns the number of chunks. It is 0 for a contiguous dataset and for a dataset without elements.
func (d *OrderedDataset) Chunks() int { return len(d.refs) }

// SetChunk sets the location of chunk i, in row-major order of the grid: absolute offset off, stored size, and the mask that
// Filterer.Encode returned. Each chunk must be set once, after Layout. Several goroutines may call SetChunk.
func (d *OrderedDataset) SetChunk(i int, off, size int64, mask uint32) {
	d.refs[i] = chunkRef{addr: off, size: size, mask: mask}
}

// Offset returns the absolute offset of contiguous data, set by Layout; -1 without contiguous data.
func (d *OrderedDataset) Offset() int64 { return d.off }

// Bytes returns the size of the data in bytes, before any filter.
func (d *OrderedDataset) Bytes() int64 {
	n, _ := elems(d.dims)
	return n * d.typ.Size()
}

// Layout assigns offsets to everything except chunks: first the metadata, then contiguous data. It returns the offset after the
// metadata and the contiguous data, where chunks may begin.
func (b *Ordered) Layout() (end int64, err error) {
	if b.meta != 0 {
		b.fail(fault.Class(fault.ErrUsage, "Layout was called twice"))
	}
	if b.err != nil {
		return 0, b.err
	}
	at := int64(superblock2Len)
	place := func(n int64) (off int64) {
		off = at
		at = (at + n + 7) &^ 7
		return off
	}
	nodes := []*orderedNode{&b.orderedNode}
	for _, d := range b.sets {
		nodes = append(nodes, &d.orderedNode)
	}
	for i, n := range nodes {
		if err := n.settle(); err != nil {
			return 0, err
		}
		var own []orderedMessage
		if i == 0 {
			own = b.links()
		} else {
			own = b.sets[i-1].messages()
		}
		n.addr = place(n.headerLen(own))
		if n.dense != nil {
			n.dense.place(place)
		}
		if at > maxMetaFile {
			return 0, fault.Class(fault.ErrTooLarge, "the metadata exceed %d bytes", maxMetaFile)
		}
	}
	for _, d := range b.sets {
		if len(d.refs) > 0 {
			d.placeTree(place)
		}
	}
	b.heap.place(place)
	if at > maxMetaFile {
		return 0, fault.Class(fault.ErrTooLarge, "%d bytes of metadata, want at most %d", at, maxMetaFile)
	}
	b.meta = at
	for _, d := range b.sets {
		if n := d.Bytes(); d.o.Chunk == nil && !d.o.Empty && n > 0 {
			if n > 1<<62-at {
				return 0, fault.Class(fault.ErrTooLarge, "dataset %q ends past 2^62 bytes", d.name)
			}
			d.off = place(n)
		}
	}
	b.data = at
	return at, nil
}

// Encode returns the metadata, to write at offset 0. The file has size bytes. All chunks must be set.
func (b *Ordered) Encode(size int64) ([]byte, error) {
	if b.meta == 0 {
		return nil, fault.Class(fault.ErrUsage, "Encode was called before Layout")
	}
	if size < b.data {
		return nil, fault.Class(fault.ErrUsage, "Encode of a file of %d bytes, want at least %d", size, b.data)
	}
	buf := make([]byte, b.meta)
	copy(buf, signature)
	buf[8], buf[9], buf[10] = 2, 8, 8
	le.PutUint64(buf[20:], noAddr) // no superblock extension
	le.PutUint64(buf[28:], uint64(size))
	le.PutUint64(buf[36:], uint64(b.addr))
	seal(buf[:superblock2Len])
	b.encodeHeader(buf, b.links())
	for _, d := range b.sets {
		d.encodeHeader(buf, d.messages())
		for i := range d.refs {
			if r := &d.refs[i]; r.addr < b.data || r.size <= 0 || r.size > size-r.addr || r.size > 1<<32-1 {
				return nil, fault.Class(fault.ErrUsage, "chunk %d of %q: %d bytes at offset %d, want a range between %d and %d", i, d.name, r.size, r.addr, b.data, size)
			}
		}
		if len(d.refs) > 0 {
			d.encodeTree(buf)
		}
	}
	b.heap.encode(buf)
	return buf, nil
}

func seal(b []byte) { le.PutUint32(b[len(b)-4:], lookup3(b[:len(b)-4])) }
