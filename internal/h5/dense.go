package h5

import (
	"blobio/internal/fault"
	"encoding/binary"
)

// dense storage: objects in a fractal heap, indexed by version 2 B-trees by
// the hash of the name and, if the file keeps it, by order of creation.

// denseInfo is what link info and attribute info messages have in common.
type denseInfo struct {
	f      *File
	heapAt int64
	names  int64 // address of the index by name
	order  int64 // of the index by creation; undef if none
}

// decodeDense reads the message; orderLen is the width of the largest
// creation order. nil if nothing is stored densely.
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
		c.fail(at, what+" name index address", fault.ErrCorrupt, "undefined, though there is a heap")
	}
	if c.err != nil || d.heapAt == undef {
		return nil, c.err
	}
	return d, nil
}

// each visits the objects with their index records: all, or those whose name
// may be the given one.
func (d *denseInfo) each(k denseKeys, name *string, visit func(*cursor, record) (bool, error)) error {
	heap, err := d.f.fractalHeap(d.heapAt)
	if err != nil {
		return err
	}
	addr, typ, idAt, cmp := d.names, k.nameType, k.nameID, anyRecord
	switch {
	case name != nil:
		hash := lookup3([]byte(*name))
		cmp = func(r record) int {
			if len(r.b) < k.hashAt+4 {
				return 0 // visit says what is wrong
			}
			got := binary.LittleEndian.Uint32(r.b[k.hashAt:])
			switch {
			case got < hash:
				return -1
			case got > hash:
				return 1
			}
			return 0
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
	used := int64(0) // objects are stored once each, so they fit the file
	return t.walk(cmp, func(r record) (bool, error) {
		end := min(idAt+heap.idLen, len(r.b))
		c, err := heap.object(r.b[idAt:end], r.off+int64(idAt))
		if err != nil {
			return false, err
		}
		if used += int64(len(c.b)); used > d.f.src.size {
			return false, d.f.errAt(r.off, "heap ID", fault.ErrCorrupt, "objects of %d bytes and more in a file of %d", used, d.f.src.size)
		}
		return visit(c, r)
	})
}

// denseKeys says where things lie in the records of the two indexes.
type denseKeys struct {
	nameType, orderType uint8
	nameID, orderID     int
	hashAt              int
	need                int // least bytes of a record
}

var (
	linkKeys = denseKeys{nameType: 5, nameID: 4, hashAt: 0, orderType: 6, orderID: 8, need: 11}
	attrKeys = denseKeys{nameType: 8, nameID: 0, hashAt: 13, orderType: 9, orderID: 0, need: 13}
)

// denseLinks are the members of a group in dense storage.
type denseLinks struct{ d *denseInfo }

// decodeLinkInfo returns nil if the group's links are not dense.
func (f *File) decodeLinkInfo(m *message) (*denseLinks, error) {
	d, err := f.decodeDense(m, 8, "link info")
	if d == nil {
		return nil, err
	}
	return &denseLinks{d}, nil
}

func (k *denseLinks) all(yield func(Link, error) bool) {
	err := k.d.each(linkKeys, nil, func(c *cursor, _ record) (bool, error) {
		l := c.decodeLink()
		if c.err != nil {
			return false, c.err
		}
		return yield(l, nil), nil
	})
	if err != nil {
		yield(Link{}, err)
	}
}

func (k *denseLinks) find(name string) (found Link, ok bool, err error) {
	err = k.d.each(linkKeys, &name, func(c *cursor, _ record) (bool, error) {
		l := c.decodeLink()
		if c.err != nil || l.Name != name {
			return true, c.err
		}
		found, ok = l, true
		return false, nil
	})
	return found, ok, err
}

// denseAttributes are attributes in dense storage.
type denseAttributes struct{ d *denseInfo }

// denseAttrs returns nil if the object has none.
func (o *Object) denseAttrs() (*denseAttributes, error) {
	m := o.h.find(msgAttrInfo)
	if m == nil {
		return nil, nil
	}
	d, err := o.f.decodeDense(m, 2, "attribute info")
	if d == nil {
		return nil, err
	}
	return &denseAttributes{d}, nil
}

// attr decodes an attribute from the heap. Byte 8 of a record has the flags
// of the message.
func (k *denseAttributes) attr(c *cursor, r record) (*Attr, error) {
	if r.b[8]&msgShared != 0 {
		return nil, k.d.f.errAt(r.off, "attribute", fault.ErrUnsupported, "attribute in the shared message heap")
	}
	a := c.decodeAttr()
	return a, c.err
}

func (k *denseAttributes) all(yield func(*Attr, error) bool) {
	err := k.d.each(attrKeys, nil, func(c *cursor, r record) (bool, error) {
		a, err := k.attr(c, r)
		if err != nil {
			return false, err
		}
		return yield(a, nil), nil
	})
	if err != nil {
		yield(nil, err)
	}
}

func (k *denseAttributes) find(name string) (found *Attr, err error) {
	err = k.d.each(attrKeys, &name, func(c *cursor, r record) (bool, error) {
		a, err := k.attr(c, r)
		if err != nil || a.Name != name {
			return true, err
		}
		found = a
		return false, nil
	})
	return found, err
}
