package h5

import (
	"blobio/internal/base/fault"
	"cmp"
	"slices"
)

type message struct {
	typ   uint16
	flags uint8
	order int32 // creation order; -1 if the header does not keep it
	off   int64 // absolute file offset of data
	data  []byte
}

// header is a parsed object header: its messages in order, without NIL and continuation messages.
type header struct {
	addr int64
	msgs []message
}

// find returns the first message of a type, or nil.
func (h *header) find(typ uint16) *message {
	for i := range h.msgs {
		if h.msgs[i].typ == typ {
			return &h.msgs[i]
		}
	}
	return nil
}

// attrNamed reports whether an attribute message has or may have the given name. It may need decoding.
func (m *message) attrNamed(name string) bool {
	at := 8
	if len(m.data) > 0 && m.data[0] == 3 {
		at = 9 // in version 3 the character set precedes the name
	}
	if m.flags&msgShared != 0 || len(m.data) < at+len(name) || m.data[0] < 1 || m.data[0] > 3 {
		return true
	}
	b := m.data[at:]
	return string(b[:len(name)]) == name && (len(b) == len(name) || b[len(name)] == 0 || int(m.data[2])|int(m.data[3])<<8 == len(name))
}

// all returns the messages of a type, in creation order if the header keeps it, otherwise in the stored order.
func (h *header) all(typ uint16) []*message {
	var out []*message
	for i := range h.msgs {
		if h.msgs[i].typ == typ {
			out = append(out, &h.msgs[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *message) int { return cmp.Compare(a.order, b.order) })
	return out
}

// headerParser reads the blocks of an object header.
type headerParser struct {
	f     *File
	h     *header
	todo  []block // continuations that are not yet read
	seen  map[int64]bool
	total int64
}

type block struct {
	at, n int64 // address and length
	off   int64 // offset of the message with the block, for errors
}

// header reads the object header at addr, version 1 or 2.
func (f *File) header(addr int64) (*header, error) {
	c := f.at(addr, 16, "object header")
	if c.err != nil {
		return nil, c.err
	}
	p := &headerParser{f: f, h: &header{addr: addr}}
	var err error
	if string(c.b[:4]) == "OHDR" {
		err = p.version2(addr)
	} else {
		err = p.version1(addr, c)
	}
	if err != nil {
		return nil, err
	}
	return p.h, nil
}

func (p *headerParser) version1(addr int64, c *cursor) error {
	c.version(1, "object header version")
	c.skip(7, "object header")
	n := c.u32("object header size")
	if c.err != nil {
		return c.err
	}
	b := p.f.at(addr+headerPrefixLen, int64(n), "object header messages")
	if err := p.messages1(b); err != nil {
		return err
	}
	return p.continuations(func(k block) error {
		return p.messages1(p.f.at(k.at, k.n, "object header continuation"))
	})
}

func (p *headerParser) messages1(c *cursor) error {
	for c.err == nil && c.left() >= messagePrefix {
		typ := c.u16("message type")
		n := c.u16("message size")
		flags := c.u8("message flags")
		c.skip(3, "message prefix")
		if err := p.add(c, message{typ: typ, flags: flags, order: -1}, int64(n)); err != nil {
			return err
		}
	}
	return c.err
}

func (p *headerParser) version2(addr int64) error {
	f := p.f
	c := f.at(addr, 6, "object header")
	c.skip(4, "signature")
	c.version(2, "object header version")
	flags := c.u8("object header flags")
	if c.err != nil {
		return c.err
	}
	pre := int64(6)
	if flags&0x20 != 0 {
		pre += 16 // access, modification, change and birth time
	}
	if flags&0x10 != 0 {
		pre += 4 // attribute phase change values
	}
	width := 1 << (flags & 3)
	c = f.at(addr, pre+int64(width), "object header")
	c.skip(pre, "object header")
	n := c.num(width, "object header size")
	if c.err != nil {
		return c.err
	}
	pre += int64(width)
	if n > maxMeta {
		return f.errAt(c.pos()-int64(width), "object header size", fault.ErrTooLarge, "%d, want at most %d", n, maxMeta)
	}
	c = f.at(addr, pre+n+4, "object header")
	if err := p.messages2(c, int(pre), flags&4 != 0); err != nil {
		return err
	}
	return p.continuations(func(k block) error {
		c := f.at(k.at, k.n, "object header continuation")
		c.magic("OCHK")
		return p.messages2(c, 4, flags&4 != 0)
	})
}

// messages2 verifies the checksum at the end of the block before it decodes the messages from offset pre.
func (p *headerParser) messages2(c *cursor, pre int, order bool) error {
	if c.err == nil && len(c.b) < pre+4 {
		c.fail(c.off, "object header block", fault.ErrCorrupt, "%d bytes, want at least %d", len(c.b), pre+4)
	}
	if c.err != nil {
		return c.err
	}
	c.p = len(c.b) - 4
	c.checksum("object header")
	c.b, c.p = c.b[:len(c.b)-4], pre
	prefix := 4
	if order {
		prefix = 6
	}
	for c.err == nil && c.left() >= prefix { // fewer bytes are a gap at the end of the block
		typ := c.u8("message type")
		n := c.u16("message size")
		flags := c.u8("message flags")
		m := message{typ: uint16(typ), flags: flags, order: -1}
		if order {
			m.order = int32(c.u16("message creation order"))
		}
		if err := p.add(c, m, int64(n)); err != nil {
			return err
		}
	}
	return c.err
}

// add adds the message whose body of n bytes is at the cursor.
func (p *headerParser) add(c *cursor, m message, n int64) error {
	m.off = c.pos()
	m.data = c.take(n, "message body")
	if c.err != nil {
		return c.err
	}
	switch {
	case m.typ == msgNil:
	case m.typ == msgContinuation:
		k := p.f.over(m.data, m.off)
		b := block{at: k.addr("continuation address"), n: k.length("continuation length"), off: m.off}
		if k.err != nil {
			return k.err
		}
		p.todo = append(p.todo, b)
	case m.typ > msgMax && m.flags&msgFailUnknown != 0:
		return p.f.errAt(m.off, "object header message", fault.ErrUnsupported, "message type %#x is unknown, but readers must know it", m.typ)
	case len(p.h.msgs) >= maxMessages:
		return p.f.errAt(m.off, "object header message", fault.ErrTooLarge, "the object header has more than %d messages", maxMessages)
	default:
		p.h.msgs = append(p.h.msgs, m)
	}
	return nil
}

// continuations reads the continuation blocks, including nested continuation blocks.
func (p *headerParser) continuations(read func(block) error) error {
	for len(p.todo) > 0 {
		k := p.todo[0]
		p.todo = p.todo[1:]
		if p.seen == nil {
			p.seen = make(map[int64]bool)
		}
		p.total += k.n
		switch {
		case k.at == undef || k.n == 0:
			return p.f.errAt(k.off, "continuation", fault.ErrCorrupt, "%d bytes at %#x are not a valid block", k.n, k.at)
		case p.seen[k.at]:
			return p.f.errAt(k.off, "continuation", fault.ErrCorrupt, "two continuations lead to the block at %#x", k.at)
		case p.total > min(maxHeaderLen, p.f.src.size):
			return p.f.errAt(k.off, "continuation", fault.ErrTooLarge, "object header of %d bytes, want at most %d", p.total, min(maxHeaderLen, p.f.src.size))
		}
		p.seen[k.at] = true
		if err := read(k); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the message, or the target of a shared message (a committed datatype).
func (f *File) resolve(m *message) (*message, error) {
	if m.flags&msgShared == 0 {
		return m, nil
	}
	return f.shared(f.over(m.data, m.off), m.typ)
}

// shared decodes a shared message reference and returns the message of type typ in the referenced object header.
func (f *File) shared(c *cursor, typ uint16) (*message, error) {
	at := c.pos()
	version := c.u8("shared message version")
	kind := c.u8("shared message type")
	switch {
	case c.err != nil:
		return nil, c.err
	case version == 1:
		c.skip(int64(6+f.lenSize), "shared message") // reserved bytes, and an unused heap offset
	case version == 2:
	case version == 3 && kind == 2:
	case version == 3:
		return nil, f.errAt(at, "shared message", fault.ErrUnsupported, "messages in the shared message heap are not supported (type %d)", kind)
	default:
		return nil, f.errAt(at, "shared message version", fault.ErrUnsupported, "%d, want 1 to 3", version)
	}
	addr := c.addr("shared message address")
	if c.err == nil && addr == undef {
		c.fail(at, "shared message address", fault.ErrCorrupt, "the address is undefined")
	}
	if c.err != nil {
		return nil, c.err
	}
	h, err := f.header(addr)
	if err != nil {
		return nil, err
	}
	m := h.find(typ)
	if m == nil || m.flags&msgShared != 0 {
		return nil, f.errAt(at, "shared message", fault.ErrCorrupt, "object at %#x has no message of type %#x", addr, typ)
	}
	return m, nil
}
