package h5

import (
	"blobio/internal/base/fault"
	"bytes"
)

// symbolTable is an old-style group: a version 1 B-tree of symbol nodes, with names in a local heap.
type symbolTable struct {
	f            *File
	tree, heapAt int64
}

// symbol is an entry of a symbol node.
type symbol struct {
	off   int64 // absolute offset of the entry
	name  int64 // offset in the heap
	addr  int64
	cache uint32
	soft  uint32 // cache 2: offset of the target in the heap
}

func (t *symbolTable) all(yield func(Link, error) bool) {
	heap, err := t.f.localHeap(t.heapAt)
	if err != nil {
		yield(Link{}, err)
		return
	}
	used := int64(0) // each name is stored once, so the sum of their lengths is at most the size of the heap
	walk := t.f.walk1(0, func(c *cursor) { c.length("B-tree key") })
	err = walk.run(t.tree, func(k child1) (bool, error) {
		syms, err := t.f.symbolNode(k.addr)
		if err != nil {
			return false, err
		}
		for _, s := range syms {
			l, err := t.link(heap, s)
			if err != nil {
				return false, err
			}
			if used += int64(len(l.Name)) + 1; used > heap.size {
				return false, t.f.errAt(s.off, "link name", fault.ErrCorrupt, "names have at least %d bytes in a heap of %d bytes", used, heap.size)
			}
			if !yield(l, nil) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		yield(Link{}, err)
	}
}

// find descends the tree: child i has the names above key i up to key i+1.
func (t *symbolTable) find(name string) (Link, bool, error) {
	heap, err := t.f.localHeap(t.heapAt)
	if err != nil {
		return Link{}, false, err
	}
	addr, level := t.tree, -1
	for {
		n, err := t.f.node1(addr, 0, level, func(c *cursor) { c.length("B-tree key") })
		if err != nil {
			return Link{}, false, err
		}
		if n.used == 0 {
			return Link{}, false, nil
		}
		lo, hi := 0, n.used // the first child whose upper key is >= name
		for lo < hi {
			mid := (lo + hi) / 2
			c := n.key(mid + 1)
			key, err := heap.name(c.length("B-tree key"), n.off)
			if err != nil {
				return Link{}, false, err
			}
			if bytes.Compare(key, []byte(name)) >= 0 {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		if lo == n.used {
			return Link{}, false, nil
		}
		addr, err = n.child(lo)
		if err != nil {
			return Link{}, false, err
		}
		if n.level > 0 {
			level = n.level - 1
			continue
		}
		syms, err := t.f.symbolNode(addr)
		if err != nil {
			return Link{}, false, err
		}
		for _, s := range syms {
			got, err := heap.name(s.name, s.off)
			if err != nil {
				return Link{}, false, err
			}
			if string(got) == name {
				l, err := t.link(heap, s)
				return l, true, err
			}
		}
		return Link{}, false, nil
	}
}

func (t *symbolTable) link(heap *localHeap, s symbol) (Link, error) {
	name, err := heap.name(s.name, s.off)
	if err != nil {
		return Link{}, err
	}
	if len(name) == 0 {
		return Link{}, t.f.errAt(s.off, "link name", fault.ErrCorrupt, "empty")
	}
	l := Link{Name: string(name), addr: s.addr}
	if s.cache == 2 {
		target, err := heap.name(int64(s.soft), s.off+int64(2*t.f.offSize+8))
		if err != nil {
			return Link{}, err
		}
		l.Kind, l.Target = LinkSoft, string(target)
	} else if s.addr == undef {
		return Link{}, t.f.errAt(s.off+int64(t.f.offSize), "object header address", fault.ErrCorrupt, "the address is undefined")
	}
	return l, nil
}

func (f *File) symbolNode(addr int64) ([]symbol, error) {
	c := f.at(addr, 8, "symbol node")
	c.magic("SNOD")
	c.version(1, "symbol node version")
	c.skip(1, "symbol node")
	n := int(c.u16("number of symbols"))
	if c.err != nil {
		return nil, c.err
	}
	size := int64(2*f.offSize + 24)
	c = f.at(addr+8, int64(n)*size, "symbol node entries")
	if c.err != nil {
		return nil, c.err
	}
	syms := make([]symbol, n)
	for i := range syms {
		s := &syms[i]
		s.off = c.pos()
		s.name = c.addr("link name offset")
		s.addr = c.addr("object header address")
		s.cache = c.u32("cache type")
		c.skip(4, "symbol entry")
		s.soft = c.u32("symbol scratch")
		c.skip(12, "symbol scratch")
	}
	return syms, c.err
}

type localHeap struct {
	f    *File
	at   int64 // address of the data segment
	size int64
}

func (f *File) localHeap(addr int64) (*localHeap, error) {
	c := f.at(addr, int64(8+2*f.lenSize+f.offSize), "local heap")
	c.magic("HEAP")
	c.version(0, "local heap version")
	c.skip(3, "local heap")
	at := c.pos()
	h := &localHeap{f: f, size: c.length("local heap size")}
	c.length("local heap free list")
	h.at = c.addr("local heap data address")
	if c.err != nil {
		return nil, c.err
	}
	if h.at == undef || !f.src.inFile(f.base+h.at, h.size) {
		return nil, f.errAt(at, "local heap size", fault.ErrTruncated, "%d bytes at %#x, but the file has only %d", h.size, h.at, f.src.size)
	}
	return h, nil
}

// name returns the null-terminated string at heap offset p. off is the file offset of p, for errors.
func (h *localHeap) name(p, off int64) ([]byte, error) {
	if p < 0 || p >= h.size {
		return nil, h.f.errAt(off, "local heap offset", fault.ErrCorrupt, "%d, want below %d", p, h.size)
	}
	for n := int64(64); ; n *= 8 {
		n = min(n, h.size-p)
		c := h.f.at(h.at+p, n, "link name")
		if c.err != nil {
			return nil, c.err
		}
		if i := bytes.IndexByte(c.b, 0); i >= 0 {
			return c.b[:i], nil
		}
		if n == h.size-p || n >= maxName {
			return nil, h.f.errAt(h.f.base+h.at+p, "link name", fault.ErrCorrupt, "the name does not end within %d bytes", n)
		}
	}
}
