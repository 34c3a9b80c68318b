package h5

import "blobio/internal/base/fault"

// Storage is the layout of a dataset's data in the file.
type Storage uint8

// Kinds of storage, numbered as in the format.
const (
	Compact    Storage = 0 // in the object header
	Contiguous Storage = 1 // one extent of the file
	Chunked    Storage = 2
	Virtual    Storage = 3 // parts of other datasets; not supported
)

// String returns the name of the storage.
func (s Storage) String() string {
	return [...]string{"compact", "contiguous", "chunked", "virtual"}[s&3]
}

type layout struct {
	storage Storage
	off     int64  // absolute offset of the message
	addr    int64  // address of contiguous data or of the chunk index
	size    int64  // bytes of contiguous data; -1: not stored
	data    []byte // compact data
	dataOff int64

	// For chunked data:
	chunk  []int64 // elements per dimension
	elem   int64   // bytes per element
	index  uint8   // kind of chunk index in version 4; 0 for earlier versions, which have a version 1 B-tree
	flags  uint8
	single int64 // stored size of a single chunk with filters
	mask   uint32
}

// Kinds of chunk indexes in layout version 4.
const (
	indexTree1    = 0
	indexSingle   = 1
	indexImplicit = 2
	indexFixed    = 3
	indexExt      = 4
	indexTree2    = 5
)

const (
	layoutRawEdges = 1 // chunks that extend beyond the dataset are not filtered
	layoutFiltered = 2 // a single chunk with filters
)

func (f *File) decodeLayout(m *message) (layout, error) {
	c := f.over(m.data, m.off)
	l := layout{off: m.off, addr: undef, size: -1}
	version := c.u8("layout version")
	switch version {
	case 1, 2:
		l.old(c)
	case 3, 4:
		at := c.pos()
		l.storage = Storage(c.u8("layout class"))
		switch l.storage {
		case Compact:
			n := int64(c.u16("compact size"))
			l.dataOff = c.pos()
			l.data = c.take(n, "compact data")
		case Contiguous:
			l.addr = c.addr("data address")
			l.size = c.length("data size")
		case Chunked:
			if version == 3 {
				l.chunked3(c)
			} else {
				l.chunked4(c)
			}
		case Virtual: // a read returns an error
		default:
			c.fail(at, "layout class", fault.ErrUnsupported, "%d, want 0 to 3", l.storage)
		}
	default:
		c.fail(m.off, "layout version", fault.ErrUnsupported, "%d, want 1 to 4", version)
	}
	if c.err == nil && l.storage == Chunked {
		l.check(c)
	}
	return l, c.err
}

// old decodes versions 1 and 2.
func (l *layout) old(c *cursor) {
	at := c.pos()
	rank := int(c.u8("layout dimensionality"))
	l.storage = Storage(c.u8("layout class"))
	c.skip(5, "layout reserved")
	if c.err == nil && (rank > maxRank+1 || l.storage > Chunked) {
		c.fail(at, "layout", fault.ErrCorrupt, "rank %d with class %d is invalid", rank, l.storage)
	}
	if l.storage != Compact {
		l.addr = c.addr("data address")
	}
	dims := make([]int64, 0, maxRank+1)
	for range rank {
		dims = append(dims, int64(c.u32("layout dimension")))
	}
	switch l.storage {
	case Chunked:
		if rank < 2 && c.err == nil {
			c.fail(at, "layout dimensionality", fault.ErrCorrupt, "%d for a chunked layout, want at least 2", rank)
			return
		}
		// The element size is stored as one more dimension.
		if c.err == nil {
			l.chunk, l.elem = dims[:rank-1], dims[rank-1]
		}
	case Compact:
		n := int64(c.u32("compact size"))
		l.dataOff = c.pos()
		l.data = c.take(n, "compact data")
	}
}

func (l *layout) chunked3(c *cursor) {
	at := c.pos()
	rank := int(c.u8("chunk dimensionality"))
	if c.err == nil && (rank < 2 || rank > maxRank+1) {
		c.fail(at, "chunk dimensionality", fault.ErrCorrupt, "%d, want 2 to %d", rank, maxRank+1)
		return
	}
	l.addr = c.addr("chunk index address")
	for range rank - 1 {
		l.chunk = append(l.chunk, int64(c.u32("chunk dimension")))
	}
	l.elem = int64(c.u32("chunk element size"))
}

func (l *layout) chunked4(c *cursor) {
	l.flags = c.u8("chunk flags")
	at := c.pos()
	rank := int(c.u8("chunk dimensionality"))
	width := int(c.u8("chunk dimension width"))
	if c.err == nil && (rank < 2 || rank > maxRank+1 || width < 1 || width > 8) {
		c.fail(at, "chunk dimensionality", fault.ErrCorrupt, "%d dimensions of %d bytes, want 2 to %d dimensions of 1 to 8 bytes", rank, width, maxRank+1)
		return
	}
	for range rank - 1 {
		l.chunk = append(l.chunk, c.num(width, "chunk dimension"))
	}
	l.elem = c.num(width, "chunk element size")
	at = c.pos()
	l.index = c.u8("chunk index type")
	switch l.index {
	case indexSingle:
		if l.flags&layoutFiltered != 0 {
			l.single = c.length("single chunk size")
			l.mask = c.u32("single chunk filter mask")
		}
	case indexImplicit:
	case indexFixed:
		c.skip(1, "fixed array parameters")
	case indexExt:
		c.skip(5, "extensible array parameters")
	case indexTree2:
		c.skip(6, "B-tree parameters")
	default:
		c.fail(at, "chunk index type", fault.ErrUnsupported, "%d, want 1 to 5", l.index)
	}
	l.addr = c.addr("chunk index address")
}

// check checks the size of a chunk.
func (l *layout) check(c *cursor) {
	for _, d := range l.chunk {
		if d == 0 {
			c.fail(l.off, "chunk dimension", fault.ErrCorrupt, "0, want at least 1")
			return
		}
	}
	n, ok := elems(l.chunk)
	if !ok || l.elem == 0 || n > maxChunk/l.elem {
		c.fail(l.off, "chunk", fault.ErrTooLarge, "%v elements of %d bytes, want at most %d bytes in all", l.chunk, l.elem, maxChunk)
	}
}

// chunkBytes returns the size of a decoded chunk.
func (l *layout) chunkBytes() int64 {
	n, _ := elems(l.chunk)
	return n * l.elem
}
