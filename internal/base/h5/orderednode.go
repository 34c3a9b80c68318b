package h5

import (
	"blobio/internal/base/fault"
	"unicode/utf8"
)

const (
	superblock2Len = 48
	noAddr         = ^uint64(0)
	// largestMessage is the maximum length of a header message, whose size has 16 bits. Longer attributes are stored densely.
	largestMessage = 65535 - 16
	// maxCreated is the maximum number of attributes with a creation order.
	maxCreated = 65535
)

// orderedNode is the common part of the group and the datasets of an Ordered.
type orderedNode struct {
	b     *Ordered
	name  string
	attrs []orderedAttr
	addr  int64 // address of the object header
	dense *denseAttrs
}

// orderedAttr is an attribute. Its value may contain addresses, so it is encoded last.
type orderedAttr struct {
	name       string
	typ, space []byte
	size       int64
	value      func(dst []byte)
}

// Attr adds an attribute of raw bytes, little-endian, which are not copied. A nil dims means a scalar; otherwise dims is the
// shape. Strings of fixed length need no terminator. A value without elements becomes a NullAttr.
func (n *orderedNode) Attr(name string, t Type, dims []int64, raw []byte) {
	if err := checkShape(t, dims); err != nil {
		n.b.fail(fault.Class(err, "attribute %q of %q", name, n.name))
		return
	}
	if k, _ := elems(dims); k*t.Size() != int64(len(raw)) || k == 0 {
		n.b.fail(fault.Class(fault.ErrUsage, "attribute %q of %q: %d bytes, want %d of %s", name, n.name, len(raw), k, t))
		return
	}
	n.add(orderedAttr{name, trimType(t), encodeSpace(dims), int64(len(raw)), func(dst []byte) { copy(dst, raw) }})
}

// NullAttr adds an attribute with a type but no elements.
func (n *orderedNode) NullAttr(name string, t Type) {
	if err := checkShape(t, nil); err != nil {
		n.b.fail(fault.Class(err, "attribute %q of %q", name, n.name))
		return
	}
	n.add(orderedAttr{name, trimType(t), []byte{2, 0, 0, 2}, 0, func([]byte) {}})
}

// trimType returns a datatype message without the padding of old headers.
func trimType(t Type) []byte { return encodeType(t)[:typeLen(t)] }

func (n *orderedNode) add(a orderedAttr) {
	err := checkAttr(a.name)
	if err == nil && !utf8.ValidString(a.name) {
		err = fault.Class(fault.ErrUsage, "the name is not UTF-8")
	}
	if err != nil {
		n.b.fail(fault.Class(err, "attribute %q of %q", a.name, n.name))
		return
	}
	n.attrs = append(n.attrs, a)
}

// charset returns the character set of a name: 0 ASCII, 1 UTF-8.
func charset(name string) byte {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return 1
		}
	}
	return 0
}

// len returns the size of the attribute's message.
func (a *orderedAttr) len() int64 {
	return int64(9+len(a.name)+1+len(a.typ)+len(a.space)) + a.size
}

// encode writes the message, version 3, which has no padding.
func (a *orderedAttr) encode(b []byte) {
	b[0] = 3
	le.PutUint16(b[2:], uint16(len(a.name)+1))
	le.PutUint16(b[4:], uint16(len(a.typ)))
	le.PutUint16(b[6:], uint16(len(a.space)))
	b[8] = charset(a.name)
	at := 9 + copy(b[9:], a.name) + 1
	at += copy(b[at:], a.typ)
	at += copy(b[at:], a.space)
	a.value(b[at : at+int(a.size)])
}

// settle chooses the storage of the attributes. They are stored in the header if each fits in a message, otherwise all are
// stored densely.
func (n *orderedNode) settle() error {
	if len(n.attrs) > maxCreated {
		return fault.Class(fault.ErrUsage, "%q has %d attributes, want at most %d", n.name, len(n.attrs), maxCreated)
	}
	seen := make(map[string]bool, len(n.attrs))
	apart := false
	for i := range n.attrs {
		a := &n.attrs[i]
		if seen[a.name] {
			return fault.Class(fault.ErrExist, "%q has two attributes named %q", n.name, a.name)
		}
		seen[a.name] = true
		if a.len() > maxAttr {
			return fault.Class(fault.ErrTooLarge, "attribute %q of %q: %d bytes, want at most %d", a.name, n.name, a.len(), maxAttr)
		}
		apart = apart || a.len() > largestMessage
	}
	if apart {
		n.dense = &denseAttrs{attrs: n.attrs}
	}
	return nil
}

// orderedMessage is a message of a version 2 object header.
type orderedMessage struct {
	typ, flags byte
	body       []byte
}

// Message prefixes have a creation order, although only attributes use it.
const (
	orderedPrefix    = 6
	orderedHeaderLen = 4 + 1 + 1 + 4 + 4 // signature, version, flags, attribute phase change, size
)

func (n *orderedNode) attrInfo() orderedMessage {
	b := []byte{0, 3} // creation order is tracked and indexed
	b = le.AppendUint16(b, uint16(min(len(n.attrs), maxCreated)))
	at := [3]uint64{noAddr, noAddr, noAddr}
	if n.dense != nil {
		at = [3]uint64{uint64(n.dense.heap), uint64(n.dense.byName), uint64(n.dense.byOrder)}
	}
	for _, a := range at {
		b = le.AppendUint64(b, a)
	}
	return orderedMessage{typ: msgAttrInfo, body: b}
}

func (n *orderedNode) messagesLen(own []orderedMessage) (size int64) {
	for _, m := range own {
		size += orderedPrefix + int64(len(m.body))
	}
	size += orderedPrefix + int64(len(n.attrInfo().body))
	if n.dense == nil {
		for i := range n.attrs {
			size += orderedPrefix + n.attrs[i].len()
		}
	}
	return size
}

// headerLen returns the size of the object header, which is one block.
func (n *orderedNode) headerLen(own []orderedMessage) int64 {
	return orderedHeaderLen + n.messagesLen(own) + 4
}

// encodeHeader writes the object header and dense attributes into buf, which begins at file offset 0.
func (n *orderedNode) encodeHeader(buf []byte, own []orderedMessage) {
	size := n.messagesLen(own)
	b := buf[n.addr : n.addr+orderedHeaderLen+size+4]
	copy(b, "OHDR")
	b[4], b[5] = 2, 2|4|8|0x10 // 4-byte size; attribute order tracked and indexed; phase change stored
	// Attributes stay in the header, regardless of their number.
	le.PutUint16(b[6:], maxCreated)
	le.PutUint32(b[10:], uint32(size))
	at := orderedHeaderLen
	prefix := func(typ, flags byte, n int64, order int) []byte {
		b[at], b[at+3] = typ, flags
		le.PutUint16(b[at+1:], uint16(n))
		le.PutUint16(b[at+4:], uint16(order))
		at += orderedPrefix + int(n)
		return b[at-int(n) : at]
	}
	for _, m := range append(own, n.attrInfo()) {
		copy(prefix(m.typ, m.flags, int64(len(m.body)), 0), m.body)
	}
	if n.dense != nil {
		n.dense.encode(buf)
	} else {
		for i := range n.attrs {
			a := &n.attrs[i]
			a.encode(prefix(msgAttribute, 0, a.len(), i))
		}
	}
	seal(b)
}

func (b *Ordered) links() []orderedMessage {
	info := []byte{0, 3} // creation order is tracked and indexed
	info = le.AppendUint64(info, uint64(len(b.sets)))
	for range 3 { // links are in the header
		info = le.AppendUint64(info, noAddr)
	}
	l := []orderedMessage{{typ: msgLinkInfo, body: info}, {typ: msgGroupInfo, flags: 1, body: []byte{0, 1, 0xff, 0xff, 0, 0}}}
	for i, d := range b.sets {
		m := []byte{1, 4 | 16 | 1} // creation order, character set, 2-byte length
		m = le.AppendUint64(m, uint64(i))
		m = append(m, charset(d.name))
		m = le.AppendUint16(m, uint16(len(d.name)))
		m = append(m, d.name...)
		l = append(l, orderedMessage{typ: msgLink, body: le.AppendUint64(m, uint64(d.addr))})
	}
	return l
}

// messages returns the messages of a dataset, without attributes.
func (d *OrderedDataset) messages() []orderedMessage {
	space := encodeSpace(d.dims)
	if d.o.Grow {
		le.PutUint64(space[8+8*len(d.dims):], noAddr) // Unlimited
	}
	chunked := d.o.Chunk != nil
	fill := []byte{2, 2, 2, 1} // version 2, space allocated late, value written if set, defined
	if chunked {
		fill[1] = 3 // space allocated incrementally, with chunks
	}
	fill = le.AppendUint32(fill, uint32(len(d.o.Fill)))
	fill = append(fill, d.o.Fill...)
	l := []orderedMessage{{msgDataspace, 0, space}, {msgDatatype, 1, trimType(d.typ)}, {msgFill, 1, fill}}
	var m []byte
	if chunked {
		m = le.AppendUint64([]byte{3, byte(Chunked), byte(len(d.dims) + 1)}, uint64(d.tree))
		for _, c := range d.o.Chunk {
			m = le.AppendUint32(m, uint32(c))
		}
		m = le.AppendUint32(m, uint32(d.typ.Size()))
	} else {
		m = le.AppendUint64([]byte{3, byte(Contiguous)}, uint64(d.off))
		m = le.AppendUint64(m, uint64(d.Bytes()))
	}
	l = append(l, orderedMessage{msgLayout, 0, m})
	if len(d.filter) > 0 {
		l = append(l, orderedMessage{msgFilters, 1, encodeFilters(nil, d.filter)})
	}
	return l
}
