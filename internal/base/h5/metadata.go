package h5

import (
	"blobio/internal/base/fault"
	"slices"
)

// Piece is a part of the file with its content.
type Piece struct {
	Off  int64 // bytes from the start of the file
	Data []byte
}

// Layout is the result of a Builder: the metadata and the offsets of data.
type Layout struct {
	Size   int64   // length of the whole file in bytes
	Pieces []Piece // metadata; the rest is stamps, data of datasets and gaps

	Reserved int64 // offset of the space from Builder.Reserve; Size without reserved space
}

const (
	// dataStart is the minimum offset of data, as libhdf5 uses for files of two datasets.
	dataStart = 2048
	// maxMetaFile is the maximum of metadata, which are built in memory.
	maxMetaFile = 1 << 30
	// maxAttrs leaves space for other messages in a header's 16-bit count.
	maxAttrs = 65000
	// headerBlock is the target size of object header blocks.
	headerBlock = 4096
)

// Layout lays out the file: all metadata first, then the data of the datasets in creation order. The metadata are one piece at
// offset 0, in a new buffer. The same builder calls give the same bytes. The file is valid when the pieces are written and it is
// Size bytes long. The caller writes data at Offset() of each dataset at any time. Layout returns errors of earlier calls. It
// must be called once, last.
func (b *Builder) Layout() (*Layout, error) {
	if b.done {
		b.fail(fault.Class(fault.ErrUsage, "Layout was called twice"))
	}
	b.done = true
	if b.err != nil {
		return nil, b.err
	}
	at, err := b.place(superblock0Len)
	if err != nil {
		return nil, err
	}
	if at > maxMetaFile {
		return nil, fault.Class(fault.ErrTooLarge, "%d bytes of metadata, want at most %d", at, maxMetaFile)
	}
	end := b.placeStamps(at)
	if slices.ContainsFunc(b.datasets, (*DatasetBuilder).hasData) {
		end = max(end, dataStart)
	}
	if end, err = b.placeData(end); err != nil {
		return nil, err
	}
	if b.reserve > 0 {
		end = ceilDiv(end, b.reserveAlign) * b.reserveAlign
	}
	l := &Layout{Reserved: end}
	end += b.reserve
	buf := make([]byte, at)
	b.superblock(buf, end)
	b.encode(buf)
	l.Size, l.Pieces = end, []Piece{{0, buf}}
	return l, nil
}

// superblock writes a version 0 superblock, with 8-byte offsets and lengths.
func (b *Builder) superblock(buf []byte, end int64) {
	copy(buf, signature)
	buf[13], buf[14] = 8, 8
	le.PutUint16(buf[16:], groupLeafK)
	le.PutUint16(buf[18:], groupInternalK)
	le.PutUint64(buf[32:], noAddr) // no free-space information
	le.PutUint64(buf[40:], uint64(end))
	le.PutUint64(buf[48:], noAddr) // no driver information
	le.PutUint64(buf[64:], uint64(b.addr))
	le.PutUint32(buf[72:], 1)
	le.PutUint64(buf[80:], uint64(b.tab.tree))
	le.PutUint64(buf[88:], uint64(b.tab.heap))
}

// place assigns addresses to the group, its attributes and its datasets.
func (b *Builder) place(at int64) (int64, error) {
	if err := b.sortMembers(); err != nil {
		return 0, err
	}
	at, err := b.placeHeader(at, messagePrefix+16)
	if err != nil {
		return 0, err
	}
	at = b.tab.place(at)
	for _, d := range b.datasets {
		if at, err = d.placeHeader(at, d.ownMessages()); err != nil {
			return 0, err
		}
	}
	return at, nil
}

func (d *DatasetBuilder) hasData() bool {
	n, _ := elems(d.dims)
	return n > 0
}

func (b *Builder) placeData(at int64) (int64, error) {
	for _, d := range b.datasets {
		n, _ := elems(d.dims)
		d.size = n * d.typ.Size()
		if d.size > 0 {
			at = ceilDiv(at, d.align) * d.align
		}
		d.off = at
		if at += d.size; at > 1<<62 {
			return 0, fault.Class(fault.ErrTooLarge, "dataset %q ends past 2^62 bytes", d.name)
		}
	}
	return at, nil
}

// placeHeader divides the messages of an object header into blocks. The first messages have own bytes; the attributes follow.
// Every block except the last ends with a continuation message.
func (n *node) placeHeader(at int64, own int) (int64, error) {
	if len(n.attrs) > maxAttrs {
		return 0, fault.Class(fault.ErrUsage, "%q has %d attributes, want at most %d", n.name, len(n.attrs), maxAttrs)
	}
	seen := make(map[string]bool, len(n.attrs))
	for _, a := range n.attrs {
		if seen[a.name] {
			return 0, fault.Class(fault.ErrExist, "%q has two attributes named %q", n.name, a.name)
		}
		seen[a.name] = true
	}
	n.addr = at
	n.blocks = n.blocks[:0]
	size := own
	for _, a := range n.attrs {
		if k := messagePrefix + len(a.body); size > 0 && size+k > headerBlock {
			n.blocks = append(n.blocks, size+messagePrefix+16)
			size = k
		} else {
			size += k
		}
	}
	n.blocks = append(n.blocks, size)
	at += headerPrefixLen
	for _, k := range n.blocks {
		at += int64(k)
	}
	return at, nil
}

type headerWriter struct {
	b     []byte // bytes from the start of the object header
	n     *node
	at    int // next byte
	end   int // end of this block
	block int
	count int // number of messages
}

func (n *node) header(buf []byte) *headerWriter {
	b := buf[n.addr:]
	b[0] = 1
	le.PutUint32(b[4:], 1) // reference count
	le.PutUint32(b[8:], uint32(n.blocks[0]))
	return &headerWriter{b: b, n: n, at: headerPrefixLen, end: headerPrefixLen + n.blocks[0]}
}

func (w *headerWriter) put(typ uint16, body []byte) {
	last := w.block == len(w.n.blocks)-1
	room := w.end - w.at
	if !last {
		room -= messagePrefix + 16
	}
	if messagePrefix+len(body) > room {
		next := w.n.blocks[w.block+1]
		k := make([]byte, 16)
		le.PutUint64(k, uint64(w.n.addr)+uint64(w.end))
		le.PutUint64(k[8:], uint64(next))
		w.message(msgContinuation, k)
		w.block++
		w.at, w.end = w.end, w.end+next
	}
	w.message(typ, body)
}

func (w *headerWriter) message(typ uint16, body []byte) {
	b := w.b[w.at:]
	le.PutUint16(b, typ)
	le.PutUint16(b[2:], uint16(len(body)))
	copy(b[messagePrefix:], body)
	w.at += messagePrefix + len(body)
	w.count++
	le.PutUint16(w.b[2:], uint16(w.count))
}

func (w *headerWriter) attrs() {
	for _, a := range w.n.attrs {
		w.put(msgAttribute, a.body)
	}
}

// encode writes the group and its datasets into buf.
func (b *Builder) encode(buf []byte) {
	w := b.header(buf)
	var m [16]byte
	le.PutUint64(m[:], uint64(b.tab.tree))
	le.PutUint64(m[8:], uint64(b.tab.heap))
	w.put(msgSymbolTable, m[:])
	w.attrs()
	b.tab.encode(buf)
	for _, d := range b.datasets {
		d.encode(buf)
	}
}

// ownMessages returns the size of a dataset's messages without attributes.
func (d *DatasetBuilder) ownMessages() int {
	return 4*messagePrefix + len(encodeSpace(d.dims)) + len(encodeType(d.typ)) + 8 + 24
}

func (d *DatasetBuilder) encode(buf []byte) {
	w := d.header(buf)
	w.put(msgDataspace, encodeSpace(d.dims))
	w.put(msgDatatype, encodeType(d.typ))
	// Version 2, space allocated early, value never written, undefined.
	w.put(msgFill, []byte{2, 1, 1, 0, 0, 0, 0, 0})
	m := make([]byte, 24)
	m[0], m[1] = 3, byte(Contiguous)
	addr := d.off
	if d.size == 0 {
		addr = undef
	}
	le.PutUint64(m[2:], uint64(addr))
	le.PutUint64(m[10:], uint64(d.size))
	w.put(msgLayout, m)
	w.attrs()
}
