package h5

import (
	"cmp"

	"blobio/internal/base/fault"
)

// Dense storage: objects in a fractal heap, with version 2 B-trees by the hash of the name and, if the file keeps it, by creation
// order.

// denseInfo is the common part of link info and attribute info messages.
type denseInfo struct {
	f      *File
	heapAt int64
	names  int64 // address of the index by name
	order  int64 // address of the index by creation order; undef if none
}

// decodeDense decodes the message. orderLen is the width of the maximum creation order. It returns nil if nothing is stored
// densely.
func (f *File) decodeDense(m *message, orderLen int64, what string) (*denseInfo, error) {
	c := f.over(m.data, m.off)
	c.version(0, what+" version")
	flags := c.u8(what + " flags")
	if flags&1 != 0 {
		c.skip(orderLen, what+" creation order")
	}
	d := &denseInfo{f: f, order: undef}
	d.heapAt = c.addr(what + " heap address")
	at := c.pos()
	d.names = c.addr(what + " name index address")
	if flags&2 != 0 {
		d.order = c.addr(what + " creation index address")
	}
	if c.err == nil && d.heapAt != undef && d.names == undef {
		c.fail(at, what+" name index address", fault.ErrCorrupt, "undefined, but the heap exists")
	}
	if c.err != nil || d.heapAt == undef {
		return nil, c.err
	}
	return d, nil
}

// each visits the objects with their index records. With a name, it visits only objects that may have this name.
func (d *denseInfo) each(k denseKeys, name *string, visit func(*cursor, record) (bool, error)) error {
	heap, err := d.f.fractalHeap(d.heapAt)
	if err != nil {
		return err
	}
	addr, typ, idAt, compare := d.names, k.nameType, k.nameID, anyRecord
	switch {
	case name != nil:
		hash := lookup3([]byte(*name))
		compare = func(r record) int {
			if len(r.b) < k.hashAt+4 {
				return 0 // visit returns the error
			}
			return cmp.Compare(le.Uint32(r.b[k.hashAt:]), hash)
		}
	case d.order != undef:
		addr, typ, idAt = d.order, k.orderType, k.orderID
	}
	t, err := d.f.tree2(addr, typ)
	if err != nil {
		return err
	}
	if t.rec < k.need {
		return d.f.errAt(t.off, "v2 B-tree record size", fault.ErrCorrupt, "%d, want at least %d", t.rec, k.need)
	}
	used := int64(0) // each object is stored once, so the sum of their sizes is at most the size of the file
	return t.walk(compare, func(r record) (bool, error) {
		end := min(idAt+heap.idLen, len(r.b))
		c, err := heap.object(r.b[idAt:end], r.off+int64(idAt))
		if err != nil {
			return false, err
		}
		if used += int64(len(c.b)); used > d.f.src.size {
			return false, d.f.errAt(r.off, "heap ID", fault.ErrCorrupt, "objects have at least %d bytes in a file of %d bytes", used, d.f.src.size)
		}
		return visit(c, r)
	})
}

// denseKeys has the offsets of fields in the records of the two indexes.
type denseKeys struct {
	nameType, orderType uint8
	nameID, orderID     int
	hashAt              int
	need                int // minimum length of a record
}

var (
	linkKeys = denseKeys{nameType: 5, nameID: 4, hashAt: 0, orderType: 6, orderID: 8, need: 11}
	attrKeys = denseKeys{nameType: 8, nameID: 0, hashAt: 13, orderType: 9, orderID: 0, need: 13}
)

// dense has the links of a group or the attributes of an object in dense storage.
type dense[T any] struct {
	d      *denseInfo
	keys   denseKeys
	decode func(*cursor, record) (T, error)
	nameOf func(T) string
}

func (k *dense[T]) all(yield func(T, error) bool) {
	err := k.d.each(k.keys, nil, func(c *cursor, r record) (bool, error) {
		x, err := k.decode(c, r)
		return err == nil && yield(x, nil), err
	})
	if err != nil {
		var none T
		yield(none, err)
	}
}

func (k *dense[T]) find(name string) (found T, ok bool, err error) {
	err = k.d.each(k.keys, &name, func(c *cursor, r record) (bool, error) {
		x, err := k.decode(c, r)
		if err != nil || k.nameOf(x) != name {
			return true, err
		}
		found, ok = x, true
		return false, nil
	})
	return found, ok, err
}

// decodeLinkInfo returns nil if the group's links are not dense.
func (f *File) decodeLinkInfo(m *message) (*dense[Link], error) {
	d, err := f.decodeDense(m, 8, "link info")
	if d == nil {
		return nil, err
	}
	decode := func(c *cursor, _ record) (Link, error) { return c.decodeLink(), c.err }
	return &dense[Link]{d, linkKeys, decode, func(l Link) string { return l.Name }}, nil
}

// denseAttrs returns nil if the object has no dense attributes. Byte 8 of a record has the message flags.
func (o *Object) denseAttrs() (*dense[*Attr], error) {
	m := o.h.find(msgAttrInfo)
	if m == nil {
		return nil, nil
	}
	d, err := o.f.decodeDense(m, 2, "attribute info")
	if d == nil {
		return nil, err
	}
	decode := func(c *cursor, r record) (*Attr, error) { return o.f.attrOf(c, r.b[8], r.off) }
	return &dense[*Attr]{d, attrKeys, decode, func(a *Attr) string { return a.Name }}, nil
}

// LinkKind is the kind of a link.
type LinkKind uint8

// Kinds of links.
const (
	LinkHard     LinkKind = 0
	LinkSoft     LinkKind = 1
	LinkExternal LinkKind = 64
)

// String returns the name of the kind.
func (k LinkKind) String() string {
	switch k {
	case LinkHard:
		return "hard"
	case LinkSoft:
		return "soft"
	case LinkExternal:
		return "external"
	}
	return "user-defined"
}

// Link is a member of a group.
type Link struct {
	Name   string
	Kind   LinkKind
	Target string // soft and external: path of the target, which is not followed
	File   string // external: name of the file
	addr   int64  // hard: address of the object header
	order  int64  // creation order; 0 if the file does not keep it
}

// Addr returns the object header address of a hard link.
func (l Link) Addr() int64 { return l.addr }

// decodeLink decodes a link message (HDF5 File Format Specification, "Link Message").
func (c *cursor) decodeLink() Link {
	var l Link
	c.version(1, "link version")
	at := c.pos()
	flags := c.u8("link flags")
	if c.err == nil && flags&0xe0 != 0 {
		c.fail(at, "link flags", fault.ErrCorrupt, "%#x, want the upper three bits clear", flags)
	}
	if flags&8 != 0 {
		l.Kind = LinkKind(c.u8("link type"))
	}
	if flags&4 != 0 {
		l.order = int64(c.uvar(8, "link creation order"))
	}
	if flags&16 != 0 {
		c.u8("link name character set")
	}
	at = c.pos()
	n := c.num(1<<(flags&3), "link name length")
	if c.err == nil && n == 0 {
		c.fail(at, "link name length", fault.ErrCorrupt, "0, want at least 1")
	}
	l.Name = string(c.take(n, "link name"))
	switch l.Kind {
	case LinkHard:
		at = c.pos()
		l.addr = c.addr("link address")
		if c.err == nil && l.addr == undef {
			c.fail(at, "link address", fault.ErrCorrupt, "the address is undefined")
		}
	case LinkSoft:
		l.Target = string(c.take(int64(c.u16("soft link length")), "soft link value"))
	case LinkExternal:
		b := c.take(int64(c.u16("external link length")), "external link value")
		if len(b) > 1 {
			l.File, l.Target = cutNul(b[1:])
		}
	}
	return l
}

// cutNul splits two null-terminated strings.
func cutNul(b []byte) (string, string) {
	first := untilNul(b)
	rest := b[min(len(first)+1, len(b)):]
	return string(first), string(untilNul(rest))
}

// untilNul returns b up to its first zero byte.
func untilNul(b []byte) []byte {
	for i, x := range b {
		if x == 0 {
			return b[:i]
		}
	}
	return b
}
