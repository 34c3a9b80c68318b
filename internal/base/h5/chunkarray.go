package h5

import (
	"blobio/internal/base/fault"
	"math/bits"
	"slices"
)

// Chunk indexes of layout version 4: arrays of chunk entries and the version 2 B-tree. An entry has the address of the chunk and,
// with filters, its stored size and filter mask.

// entryLens returns the lengths in bytes of an entry and of its stored size.
func (x *chunkIndex) entryLens() (entry, size int) {
	entry = x.f.offSize
	if x.filtered {
		size = x.sizeLen()
		entry += size + 4
	}
	return entry, size
}

// sizeLen returns the width of stored sizes: one byte more than the size of an unfiltered chunk needs, at most 8.
func (x *chunkIndex) sizeLen() int {
	n := bits.Len64(uint64(x.lay.chunkBytes())) - 1
	return min(1+(n+8)/8, 8)
}

// entry decodes one entry.
func (x *chunkIndex) entry(c *cursor) (chunkRef, bool, error) {
	_, sizeLen := x.entryLens()
	ref := chunkRef{off: c.pos(), size: x.lay.chunkBytes()}
	ref.addr = c.addr("chunk address")
	if sizeLen > 0 {
		ref.size, ref.mask = c.num(sizeLen, "chunk size"), c.u32("chunk filter mask")
	}
	return ref, c.err == nil && ref.addr != undef, c.err
}

// arrayHeader checks the beginning of a block: signature, version 0, client and, with owner, the address of the array's header.
func (x *chunkIndex) arrayHeader(c *cursor, magic string, owner bool) {
	c.magic(magic)
	c.version(0, magic+" version")
	at := c.pos()
	want := uint8(0)
	if x.filtered {
		want = 1
	}
	if got := c.u8(magic + " client"); c.err == nil && got != want {
		c.fail(at, magic+" client", fault.ErrCorrupt, "%d, want %d", got, want)
	}
	if !owner {
		return
	}
	at = c.pos()
	if a := c.addr(magic + " header address"); c.err == nil && a != x.lay.addr {
		c.fail(at, magic+" header address", fault.ErrCorrupt, "%#x, want %#x", a, x.lay.addr)
	}
}

// bitAt returns bit i of a bitmap. The first bit is the highest of byte 0.
func bitAt(b []byte, i int64) bool { return b[i/8]&(0x80>>(i%8)) != 0 }

// fixedChunk searches a fixed array. It has one entry for each chunk of the maximum shape. A large array is divided into pages.
func (x *chunkIndex) fixedChunk(grid []int64) (none chunkRef, ok bool, err error) {
	f := x.f
	entry, _ := x.entryLens()
	c := f.sealed(x.lay.addr, int64(8+f.lenSize+f.offSize+4), "fixed array header")
	x.arrayHeader(c, "FAHD", false)
	at := c.pos()
	if n := int(c.u8("fixed array entry size")); c.err == nil && n != entry {
		c.fail(at, "fixed array entry size", fault.ErrCorrupt, "%d, want %d", n, entry)
	}
	pageBits := c.u8("fixed array page bits")
	n := c.length("fixed array entries")
	data := c.addr("fixed array data address")
	if c.err == nil && pageBits > 30 {
		c.fail(at+1, "fixed array page bits", fault.ErrCorrupt, "%d, want at most 30", pageBits)
	}
	if c.err != nil {
		return none, false, c.err
	}
	i, err := x.linear(grid, -1)
	if err != nil {
		return none, false, err
	}
	switch {
	case i >= n:
		return none, false, f.errAt(at+2, "fixed array entries", fault.ErrCorrupt, "%d, want more than %d", n, i)
	case data == undef:
		return none, false, nil
	case n > f.src.size: // the bitmap alone needs an eighth of a byte per chunk
		return none, false, f.errAt(at+2, "fixed array entries", fault.ErrCorrupt, "%d entries do not fit in a file of %d bytes", n, f.src.size)
	}
	pre, page := int64(6+f.offSize), int64(1)<<pageBits
	if n <= page {
		c = f.sealed(data, pre+n*int64(entry)+4, "fixed array data block")
		x.arrayHeader(c, "FADB", true)
		c.skip(i*int64(entry), "fixed array entries")
		return x.entry(c)
	}
	pages := ceilDiv(n, page)
	mapLen := ceilDiv(pages, 8)
	c = f.sealed(data, pre+mapLen+4, "fixed array data block")
	x.arrayHeader(c, "FADB", true)
	bitmap := c.take(mapLen, "fixed array page bitmap")
	if c.err != nil || !bitAt(bitmap, i/page) {
		return none, false, c.err
	}
	k := i / page
	in := min(page, n-k*page)
	e := int64(entry)
	return x.entry(f.sealedPart(data+pre+mapLen+4+k*(page*e+4), in*e+4, i%page*e, e, "fixed array page"))
}

// extArray is the header of an extensible array. The index block has the first entries. Growing data blocks have the others. The
// index block lists the first data blocks, and secondary blocks list the rest.
type extArray struct {
	bits, inIndex, minData, minPtrs, pageBits int64
	index                                     int64
}

func (x *chunkIndex) extArray() (a extArray, err error) {
	f := x.f
	entry, _ := x.entryLens()
	c := f.sealed(x.lay.addr, int64(12+6*f.lenSize+f.offSize+4), "extensible array header")
	x.arrayHeader(c, "EAHD", false)
	at := c.pos()
	if n := int(c.u8("extensible array entry size")); c.err == nil && n != entry {
		c.fail(at, "extensible array entry size", fault.ErrCorrupt, "%d, want %d", n, entry)
	}
	at = c.pos()
	a.bits = int64(c.u8("extensible array bits"))
	a.inIndex = int64(c.u8("extensible array index block entries"))
	a.minData = int64(c.u8("extensible array least data block"))
	a.minPtrs = int64(c.u8("extensible array least pointers"))
	a.pageBits = int64(c.u8("extensible array page bits"))
	c.skip(int64(6*f.lenSize), "extensible array statistics")
	a.index = c.addr("extensible array index block address")
	power := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	if c.err == nil && (a.bits < 1 || a.bits > 62 || !power(a.minData) || !power(a.minPtrs) || a.pageBits > 30 ||
		a.superBlocks() < a.direct()) {
		c.fail(at, "extensible array header", fault.ErrCorrupt, "indices of %d bits, %d entries in the index block, at least %d entries and %d addresses per block, and %d page bits are invalid", a.bits, a.inIndex, a.minData, a.minPtrs, a.pageBits)
	}
	return a, c.err
}

// superBlocks returns the number of groups of data blocks of equal size.
func (a *extArray) superBlocks() int64 {
	return 1 + a.bits - int64(bits.Len64(uint64(a.minData))-1)
}

// direct returns the number of groups whose data blocks the index block lists.
func (a *extArray) direct() int64 { return 2 * int64(bits.Len64(uint64(a.minPtrs))-1) }

// super describes group s: its number of data blocks, the entries in each, and the numbers of entries and data blocks before the
// group.
func (a *extArray) super(s int64) (blocks, each, before, blocksBefore int64) {
	for u := int64(0); ; u++ {
		blocks, each = 1<<(u/2), a.minData<<((u+1)/2)
		if u == s {
			return blocks, each, before, blocksBefore
		}
		before += blocks * each
		blocksBefore += blocks
	}
}

func (x *chunkIndex) extChunk(grid []int64) (none chunkRef, ok bool, err error) {
	f := x.f
	i, err := x.linear(grid, slices.Index(x.space.max, Unlimited))
	if err != nil {
		return none, false, err
	}
	a, err := x.extArray()
	if err != nil || a.index == undef {
		return none, false, err
	}
	if i >= 1<<a.bits {
		return none, false, f.errAt(x.lay.off, "chunk index", fault.ErrCorrupt, "chunk %d, want below 2^%d", i, a.bits)
	}
	entry, _ := x.entryLens()
	ptrs := 2 * (a.minPtrs - 1)
	pre := int64(6 + f.offSize)
	n := pre + a.inIndex*int64(entry) + (ptrs+a.superBlocks()-a.direct())*int64(f.offSize) + 4
	c := f.sealed(a.index, n, "extensible array index block")
	x.arrayHeader(c, "EAIB", true)
	if i < a.inIndex {
		c.skip(i*int64(entry), "extensible array entries")
		return x.entry(c)
	}
	c.skip(a.inIndex*int64(entry), "extensible array entries")
	i -= a.inIndex
	s := int64(bits.Len64(uint64(i/a.minData+1)) - 1)
	blocks, each, before, blocksBefore := a.super(s)
	i -= before
	if s < a.direct() {
		c.skip((blocksBefore+i/each)*int64(f.offSize), "data block addresses")
		at := c.addr("data block address")
		if c.err != nil || at == undef {
			return none, false, c.err
		}
		return x.dataBlock(a, at, i%each, each, nil, 0)
	}
	c.skip((ptrs+s-a.direct())*int64(f.offSize), "secondary block addresses")
	at := c.addr("secondary block address")
	if c.err != nil || at == undef {
		return none, false, c.err
	}
	// A secondary block has a bitmap of used pages, then data block addresses. The size of the bitmap is a number of whole bytes
	// for each data block, but its bits are numbered consecutively over all data blocks.
	offLen := (a.bits + 7) / 8
	var mapLen int64
	if page := int64(1) << a.pageBits; each > page {
		mapLen = ceilDiv(each/page, 8)
	}
	c = f.sealed(at, pre+offLen+blocks*(mapLen+int64(f.offSize))+4, "extensible array secondary block")
	x.arrayHeader(c, "EASB", true)
	c.skip(offLen, "secondary block offset")
	bitmap := c.take(blocks*mapLen, "extensible array page bitmap")
	c.skip(i/each*int64(f.offSize), "data block addresses")
	at = c.addr("data block address")
	if c.err != nil || at == undef {
		return none, false, c.err
	}
	return x.dataBlock(a, at, i%each, each, bitmap, i/each*(each>>a.pageBits))
}

// dataBlock reads entry i of a data block of n entries. If the block has pages, the bits of bitmap from bit first show which
// pages are used.
func (x *chunkIndex) dataBlock(a extArray, addr, i, n int64, bitmap []byte, first int64) (none chunkRef, ok bool, err error) {
	f := x.f
	entry, _ := x.entryLens()
	pre := int64(6+f.offSize) + (a.bits+7)/8
	page := int64(1) << a.pageBits
	if n <= page || bitmap == nil {
		c := f.sealed(addr, pre+n*int64(entry)+4, "extensible array data block")
		x.arrayHeader(c, "EADB", true)
		c.skip((a.bits+7)/8+i*int64(entry), "extensible array entries")
		return x.entry(c)
	}
	c := f.sealed(addr, pre+4, "extensible array data block")
	x.arrayHeader(c, "EADB", true)
	if c.err != nil || !bitAt(bitmap, first+i/page) {
		return none, false, c.err
	}
	e := int64(entry)
	return x.entry(f.sealedPart(addr+pre+4+i/page*(page*e+4), page*e+4, i%page*e, e, "extensible array page"))
}
