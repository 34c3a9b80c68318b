package h5

import (
	"blobio/internal/base/fault"
	"cmp"
	"math/bits"
)

// fractalHeap has the links or attributes of a dense object. A heap ID locates an object. Managed objects are in blocks of
// doubling size.
type fractalHeap struct {
	f       *File
	addr    int64
	idLen   int
	flags   uint8
	huge    int64 // address of the version 2 B-tree of huge objects
	width   int64
	start   int64 // bytes per block in rows 0 and 1
	maxDir  int64 // bytes of the largest direct block
	offLen  int   // width of a heap offset in bytes
	lenLen  int   // width of a managed object's length in bytes
	root    int64
	rows    int // rows of the root indirect block; 0: the root is a direct block
	maxSize int // width of a heap offset in bits
}

func (f *File) fractalHeap(addr int64) (*fractalHeap, error) {
	size := int64(22 + 12*f.lenSize + 3*f.offSize + 4)
	h := &fractalHeap{f: f, addr: addr}
	c := f.at(addr, 13, "fractal heap")
	c.magic("FRHP")
	c.version(0, "fractal heap version")
	h.idLen = int(c.u16("heap ID length"))
	at := c.pos()
	if n := c.u16("heap filter length"); c.err == nil && n > 0 {
		return nil, f.errAt(at, "fractal heap", fault.ErrUnsupported, "filters on a fractal heap are not supported")
	}
	if c.err != nil {
		return nil, c.err
	}
	c = f.sealed(addr, size, "fractal heap header")
	c.skip(9, "fractal heap")
	h.flags = c.u8("fractal heap flags")
	maxObj := int64(c.u32("largest managed object"))
	c.length("next huge object")
	h.huge = c.addr("huge object B-tree address")
	c.length("free space in managed blocks")
	c.addr("free space manager address")
	c.skip(int64(8*f.lenSize), "fractal heap statistics")
	at = c.pos()
	h.width = int64(c.u16("doubling table width"))
	h.start = c.length("starting block size")
	h.maxDir = c.length("maximum direct block size")
	h.maxSize = int(c.u16("maximum heap size"))
	c.u16("starting rows")
	h.root = c.addr("root block address")
	h.rows = int(c.u16("rows of the root block"))
	if c.err != nil {
		return nil, c.err
	}
	power := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	if !power(h.width) || !power(h.start) || !power(h.maxDir) || h.maxDir < h.start || h.maxDir > maxMeta ||
		h.maxSize < 1 || h.maxSize > 62 || h.rows > 64 || h.idLen < 1 {
		return nil, f.errAt(at, "doubling table", fault.ErrCorrupt, "width %d, blocks of %d to %d bytes, offsets of %d bits and %d rows are invalid",
			h.width, h.start, h.maxDir, h.maxSize, h.rows)
	}
	h.offLen = (h.maxSize + 7) / 8
	h.lenLen = encLen(uint64(max(1, min(h.maxDir, maxObj))))
	return h, nil
}

// object returns the object of a heap ID as a cursor. off is the file offset of the ID.
func (h *fractalHeap) object(id []byte, off int64) (*cursor, error) {
	f := h.f
	c := f.over(id, off)
	kind := c.u8("heap ID")
	if c.err == nil && kind>>6 != 0 {
		c.fail(off, "heap ID version", fault.ErrUnsupported, "%d, want 0", kind>>6)
	}
	if c.err != nil {
		return nil, c.err
	}
	switch kind >> 4 & 3 {
	case 0:
		at := c.num(h.offLen, "heap ID offset")
		n := c.num(h.lenLen, "heap ID length")
		if c.err != nil {
			return nil, c.err
		}
		return h.managed(at, n, off)
	case 1:
		return h.hugeObject(c)
	case 2:
		n := int64(kind&15) + 1
		if h.idLen-1 > 16 { // then the length has 12 bits
			n = int64(kind&15)<<8 | int64(c.u8("tiny object length")) + 1
		}
		at := c.pos()
		o := f.over(c.take(n, "tiny object"), at)
		return o, c.err
	}
	return nil, f.errAt(off, "heap ID type", fault.ErrCorrupt, "type 3, want 0 to 2")
}

// row returns the row of the doubling table that contains offset at, the row's offset and its block size.
func (h *fractalHeap) row(at int64) (row int, begin, size int64) {
	first := h.width * h.start
	if at < first {
		return 0, 0, h.start
	}
	row = bits.Len64(uint64(at / first))
	return row, first << (row - 1), h.start << (row - 1)
}

// managed finds the direct block that contains heap offset at.
func (h *fractalHeap) managed(at, n, off int64) (*cursor, error) {
	if h.root == undef {
		return nil, h.f.errAt(off, "heap ID", fault.ErrCorrupt, "the managed object is in a heap without blocks")
	}
	if h.rows == 0 {
		return h.direct(h.root, 0, h.start, at, n, off)
	}
	f := h.f
	addr, base, rows := h.root, int64(0), h.rows
	for range maxDepth {
		row, begin, size := h.row(at - base)
		if row >= rows || size > 1<<62/h.width {
			return nil, f.errAt(off, "heap ID offset", fault.ErrCorrupt, "%d lies in row %d, want a row below %d", at, row, rows)
		}
		col := (at - base - begin) / size
		child, err := h.indirect(addr, base, rows, row, col)
		if err != nil {
			return nil, err
		}
		base += begin + col*size
		if child == undef {
			return nil, f.errAt(off, "heap ID offset", fault.ErrCorrupt, "%d lies in a block that does not exist", at)
		}
		if size <= h.maxDir {
			return h.direct(child, base, size, at, n, off)
		}
		// The child block has as many rows as are needed to cover the size of the entry.
		addr, rows = child, bits.Len64(uint64(size))-bits.Len64(uint64(h.start*h.width))+1
		if rows < 1 {
			break
		}
	}
	return nil, f.errAt(off, "heap ID offset", fault.ErrCorrupt, "%d lies in too many levels of indirect blocks", at)
}

// indirect returns the address in an entry of an indirect block.
func (h *fractalHeap) indirect(addr, base int64, rows, row int, col int64) (int64, error) {
	f := h.f
	pre := int64(5 + f.offSize + h.offLen)
	c := f.sealed(addr, pre+int64(rows)*h.width*int64(f.offSize)+4, "fractal heap indirect block")
	c.magic("FHIB")
	h.blockHeader(c, base)
	c.skip((int64(row)*h.width+col)*int64(f.offSize), "indirect block entries")
	a := c.addr("heap block address")
	return a, c.err
}

// blockHeader reads the common header of direct and indirect blocks.
func (h *fractalHeap) blockHeader(c *cursor, base int64) {
	c.version(0, "heap block version")
	at := c.pos()
	if a := c.addr("heap header address"); c.err == nil && a != h.addr {
		c.fail(at, "heap header address", fault.ErrCorrupt, "%#x, want %#x", a, h.addr)
	}
	at = c.pos()
	if b := c.num(h.offLen, "heap block offset"); c.err == nil && b != base {
		c.fail(at, "heap block offset", fault.ErrCorrupt, "%d, want %d", b, base)
	}
}

// direct reads n bytes at heap offset at from the direct block at heap offset base.
func (h *fractalHeap) direct(addr, base, size, at, n, off int64) (*cursor, error) {
	f := h.f
	pre := int64(5 + f.offSize + h.offLen)
	sum := pre
	if h.flags&2 != 0 {
		pre += 4
	}
	if at-base < pre || n > size || at-base > size-n {
		return nil, f.errAt(off, "heap ID", fault.ErrCorrupt, "%d bytes at offset %d exceed a block of %d bytes", n, at-base, size)
	}
	if !f.seals.has(addr, size) {
		c := f.at(addr, size, "fractal heap direct block")
		c.magic("FHDB")
		h.blockHeader(c, base)
		if h.flags&2 != 0 {
			want := c.u32("direct block checksum")
			if c.err != nil {
				return nil, c.err
			}
			b := append([]byte(nil), c.b...)
			clear(b[sum : sum+4]) // the hash treats the checksum as zeros
			if got := lookup3(b); got != want && !f.noSums {
				c.fail(c.off+sum, "direct block checksum", fault.ErrChecksum, "stored checksum is %#08x, but computed %#08x", want, got)
			}
		}
		if c.err != nil {
			return nil, c.err
		}
		f.seals.add(addr, size)
	}
	c := f.at(addr+at-base, n, "heap object")
	return c, c.err
}

// hugeObject reads an object outside the heap's blocks. The ID contains the address and the length of the object, or the key
// of a B-tree record that contains them.
func (h *fractalHeap) hugeObject(c *cursor) (*cursor, error) {
	f := h.f
	if h.idLen-1 >= f.offSize+f.lenSize {
		at, n := c.addr("huge object address"), c.length("huge object length")
		if c.err != nil {
			return nil, c.err
		}
		return h.hugeAt(at, n, c.off)
	}
	key := c.num(min(h.idLen-1, 8), "huge object key")
	if c.err != nil {
		return nil, c.err
	}
	if h.huge == undef {
		return nil, f.errAt(c.off, "heap ID", fault.ErrCorrupt, "the huge object is in a heap without a B-tree of huge objects")
	}
	t, err := f.tree2(h.huge, 1)
	if err != nil {
		return nil, err
	}
	var out *cursor
	decode := func(r record) (at, n, k int64, err error) {
		c := f.over(r.b, r.off)
		at, n, k = c.addr("huge object address"), c.length("huge object length"), c.length("huge object key")
		return at, n, k, c.err
	}
	compare := func(r record) int {
		_, _, k, err := decode(r)
		if err != nil {
			return 0
		}
		return cmp.Compare(k, key)
	}
	err = t.walk(compare, func(r record) (bool, error) {
		at, n, _, err := decode(r)
		if err == nil {
			out, err = h.hugeAt(at, n, r.off)
		}
		return false, err
	})
	if err == nil && out == nil {
		err = f.errAt(c.off, "huge object key", fault.ErrCorrupt, "%d is not in the B-tree", key)
	}
	return out, err
}

func (h *fractalHeap) hugeAt(at, n, off int64) (*cursor, error) {
	f := h.f
	if at == undef || n > maxAttr {
		return nil, f.errAt(off, "huge object length", fault.ErrTooLarge, "%d, want at most %d", n, maxAttr)
	}
	if !f.src.inFile(f.base, at) || !f.src.inFile(f.base+at, n) {
		return nil, f.errAt(off, "huge object", fault.ErrTruncated, "%d bytes at %#x, but the whole file has only %d", n, at, f.src.size)
	}
	b, err := f.src.view(f.base+at, n)
	if err != nil {
		return nil, &fault.FormatError{File: f.name, Offset: f.base + at, Field: "huge object", Msg: "read", Err: err}
	}
	return f.over(b, f.base+at), nil
}
