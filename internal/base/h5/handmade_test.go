package h5

import (
	"blobio/internal/base/fault"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// bare returns a file without a superblock, with only the bytes at addresses.
func bare(b []byte) *File {
	return &File{src: source{r: bytes.NewReader(b), size: int64(len(b))}, name: "test.h5", offSize: 8, lenSize: 8}
}

// TestChunkTree: for a missing chunk, a version 1 B-tree does not return the chunk before it.
func TestChunkTree(t *testing.T) {
	key := func(b []byte, off ...uint64) []byte {
		b = le.AppendUint32(b, 48) // stored size in bytes
		b = le.AppendUint32(b, 0)  // mask of skipped filters
		for _, x := range append(off, 0) {
			b = le.AppendUint64(b, x)
		}
		return b
	}
	b := append([]byte("TREE"), 1, 0, 2, 0)
	b = le.AppendUint64(le.AppendUint64(b, ^uint64(0)), ^uint64(0))
	b = le.AppendUint64(key(b, 0, 0), 1000)
	b = le.AppendUint64(key(b, 3, 4), 2000)
	b = key(b, 6, 0)
	x := &chunkIndex{f: bare(b), lay: &layout{chunk: []int64{3, 4}, elem: 4}}
	for at, want := range map[[2]int64]int64{{0, 0}: 1000, {1, 1}: 2000, {0, 1}: 0, {1, 0}: 0, {2, 0}: 0, {5, 5}: 0} {
		ref, ok, err := x.tree1Chunk(at[:])
		if err != nil || ok != (want != 0) || ref.addr != want || ok && ref.size != 48 {
			t.Errorf("chunk %v: %+v %v %v, want it at %d", at, ref, ok, err, want)
		}
	}
}

// TestFixedArrayPages: the last page of a fixed array may be shorter, and an unwritten page has no chunks.
func TestFixedArrayPages(t *testing.T) {
	seal := func(b []byte, from int) []byte { return le.AppendUint32(b, lookup3(b[from:])) }
	for _, bitmap := range []byte{0xc0, 0x80, 0x40} {
		const n, page = 1500, 1024
		b := append([]byte("FAHD"), 0, 0, 8, 10)
		b = le.AppendUint64(b, n)
		b = le.AppendUint64(b, uint64(len(b)+12))
		b = seal(b, 0)
		data := len(b)
		b = append(b, "FADB\x00\x00"...)
		b = le.AppendUint64(b, 0) // address of the header
		b = seal(append(b, bitmap), data)
		for first := 0; first < n; first += page {
			at := len(b)
			for i := first; i < min(first+page, n); i++ {
				b = le.AppendUint64(b, uint64(100000+i))
			}
			b = seal(b, at)
		}
		x := &chunkIndex{f: bare(b), space: &space{dims: []int64{n}}, lay: &layout{chunk: []int64{1}, elem: 1}}
		for _, i := range []int64{0, 1, page - 1, page, n - 1} {
			ref, ok, err := x.fixedChunk([]int64{i})
			if there := bitmap&(0x80>>(i/page)) != 0; err != nil || ok != there || there && ref.addr != 100000+i {
				t.Errorf("bitmap %x, chunk %d: %+v %v %v", bitmap, i, ref, ok, err)
			}
		}
	}
}

// TestPlainTypes: byte order is decoded, and other types are not decoded as plain integers or floats.
func TestPlainTypes(t *testing.T) {
	decode := func(b []byte) Type {
		t.Helper()
		c := bare(nil).over(b, 0)
		typ := c.decodeType()
		if c.err != nil {
			t.Fatal(c.err)
		}
		return typ
	}
	for _, typ := range []Type{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, Float32, Float64} {
		b := encodeType(typ)
		if got := decode(b); got != typ || !got.Numeric() {
			t.Errorf("%v: decoded as %v", typ, got)
		}
		b[1] |= 1
		if got := decode(b); !got.BigEndian() || got.Little() != typ || !got.Numeric() {
			t.Errorf("%v in the other byte order: %v", typ, got)
		}
		b[1] &^= 1
		odd := []int{8, 10} // bit offset, precision
		if typ.Class() == ClassFloat {
			odd = append(odd, 2, 12, 13, 14, 15, 16) // sign, exponent, mantissa, bias
		}
		for _, at := range odd {
			x := bytes.Clone(b)
			x[at]--
			if got := decode(x); got.Numeric() {
				t.Errorf("%v with byte %d as %d: %v is taken for plain", typ, at, x[at], got)
			}
		}
		if typ.Class() == ClassFloat {
			x := bytes.Clone(b)
			x[1] &^= 0x30 // the leading mantissa bit is stored
			if got := decode(x); got.Numeric() {
				t.Errorf("%v with a stored leading bit: %v is taken for plain", typ, got)
			}
		}
	}
}

// TestMessagesThatMustBeKnown: an unknown message is ignored unless its flags forbid this.
func TestMessagesThatMustBeKnown(t *testing.T) {
	for flags, want := range map[uint8]error{0: nil, msgFailUnknown: fault.ErrUnsupported} {
		f := bare(nil)
		p := &headerParser{f: f, h: &header{}}
		err := p.add(f.over(make([]byte, 8), 0), message{typ: msgMax + 1, flags: flags}, 8)
		if !errors.Is(err, want) {
			t.Errorf("flags %#x: %v, want %v", flags, err, want)
		}
	}
}

// TestOtherDriver: a superblock extension with driver information is unsupported.
func TestOtherDriver(t *testing.T) {
	b := []byte{1, 0, 1, 0, 1, 0, 0, 0}
	b = le.AppendUint32(b, 16)
	b = append(b, 0, 0, 0, 0)
	b = append(b, msgDriver, 0, 8, 0, 0, 0, 0, 0)
	b = append(b, make([]byte, 8)...)
	if err := bare(b).extension(0); !errors.Is(err, fault.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	b[16] = msgNil
	if err := bare(b).extension(0); err != nil {
		t.Errorf("without a driver: %v", err)
	}
}

// TestPlacesOfData tests arrays in other files, in extents that are too short, and larger than the file.
func TestPlacesOfData(t *testing.T) {
	d := &Dataset{Object: &Object{f: bare(nil), h: &header{msgs: []message{{typ: msgExternal}}}}, typ: Int32,
		space: space{dims: []int64{4}}, lay: layout{storage: Contiguous, addr: 0, size: 16}}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := d.ReadRaw(nil, nil, make([]byte, 16)); !errors.Is(err, fault.ErrUnsupported) {
		t.Errorf("data in other files: %v", err)
	}
	d.lay.size = 15
	if err := d.prepare(); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("16 bytes in an extent of 15: %v", err)
	}

	b := NewBuilder()
	x := b.Dataset("x", Int64, []int64{4, 4}, nil)
	file := build(t, b, map[*DatasetBuilder][]byte{x: make([]byte, 128)})
	at := bytes.Index(file, encodeSpace([]int64{4, 4}))
	if at < 0 {
		t.Fatal("no dataspace")
	}
	for i := range 2 { // sizes and maximum sizes
		binary.LittleEndian.PutUint64(file[at+8+16*i:], 1<<30)
		binary.LittleEndian.PutUint64(file[at+16+16*i:], 1<<31)
	}
	if _, err := openBytes(t, file).Dataset("/x"); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("2^64 bytes: %v", err)
	}
}

// TestNamesOfOnePlace: a small file whose links share one long name does not become a large list.
func TestNamesOfOnePlace(t *testing.T) {
	b := NewBuilder()
	long := strings.Repeat("n", 900)
	b.Dataset(long, Int8, nil, nil)
	for i := range 7 {
		b.Dataset(fmt.Sprintf("d%d", i), Int8, nil, nil)
	}
	file := build(t, b, nil)
	members := func(file []byte) (names []string, err error) {
		g, err := openBytes(t, file).Root()
		if err != nil {
			return nil, err
		}
		for l, err := range g.Members() {
			if err != nil {
				return names, err
			}
			names = append(names, l.Name)
		}
		return names, nil
	}
	if names, err := members(file); err != nil || len(names) != 8 || !slices.Contains(names, long) {
		t.Fatalf("%d names: %v", len(names), err)
	}
	at := bytes.Index(file, []byte("SNOD"))
	var place uint64 // heap offset of the long name
	n := int(binary.LittleEndian.Uint16(file[at+6:]))
	heap := bytes.Index(file, []byte("HEAP"))
	data := binary.LittleEndian.Uint64(file[heap+24:])
	for i := range n {
		p := binary.LittleEndian.Uint64(file[at+8+40*i:])
		if bytes.HasPrefix(file[data+p:], []byte(long)) {
			place = p
		}
	}
	if n != 8 || place == 0 {
		t.Fatalf("%d symbols, the long name at %d", n, place)
	}
	for i := range n {
		binary.LittleEndian.PutUint64(file[at+8+40*i:], place)
	}
	if names, err := members(file); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("%d names: %v", len(names), err)
	}
}

// TestExtArrayBlocks: chunks are found in the index block, in its data blocks, and in data blocks of secondary blocks.
func TestExtArrayBlocks(t *testing.T) {
	const (
		inIndex, minData, minPtrs = 4, 16, 4
		n                         = 4 + 16 + 32 + 2*32 + 2*64 + 4*64
	)
	addr := func(i int) uint64 { return uint64(100000 + i) }
	b := append([]byte("EAHD"), 0, 0, 8, 32, inIndex, minData, minPtrs, 10)
	b = append(b, make([]byte, 6*8)...)
	b = le.AppendUint64(b, uint64(len(b)+12))
	seal := func(from int) { b = le.AppendUint32(b, lookup3(b[from:])) }
	seal(0)
	begin := func(magic string) int {
		at := len(b)
		b = append(b, magic+"\x00\x00"...)
		b = le.AppendUint64(b, 0) // address of the header
		return at
	}
	index := begin("EAIB")
	for i := range inIndex {
		b = le.AppendUint64(b, addr(i))
	}
	blocks := len(b) // six data blocks, then 25 secondary blocks
	for range 6 + 25 {
		b = le.AppendUint64(b, ^uint64(0))
	}
	b = append(b, 0, 0, 0, 0)
	next := inIndex
	dataBlock := func(slot, entries int) {
		le.PutUint64(b[slot:], uint64(len(b)))
		at := begin("EADB")
		b = append(b, 0, 0, 0, 0) // offset of the block in the array
		for range entries {
			b = le.AppendUint64(b, addr(next))
			next++
		}
		seal(at)
	}
	for i, entries := range []int{16, 32, 32, 32, 64, 64} {
		dataBlock(blocks+8*i, entries)
	}
	le.PutUint64(b[blocks+8*6:], uint64(len(b)))
	second := begin("EASB")
	b = append(b, 0, 0, 0, 0)
	slots := len(b)
	for range 4 {
		b = le.AppendUint64(b, ^uint64(0))
	}
	b = append(b, 0, 0, 0, 0)
	end := len(b)
	for i := range 4 {
		dataBlock(slots+8*i, 64)
	}
	le.PutUint32(b[end-4:], lookup3(b[second:end-4]))
	le.PutUint32(b[blocks+8*31:], lookup3(b[index:blocks+8*31]))

	x := &chunkIndex{f: bare(b), space: &space{dims: []int64{n}, max: []int64{Unlimited}}, lay: &layout{chunk: []int64{1}, elem: 1}}
	for i := range n {
		if ref, ok, err := x.extChunk([]int64{int64(i)}); err != nil || !ok || ref.addr != int64(addr(i)) {
			t.Fatalf("chunk %d: %+v %v %v", i, ref, ok, err)
		}
	}
	if _, ok, err := x.extChunk([]int64{n}); ok || err != nil {
		t.Errorf("a chunk of a block that is not there: %v %v", ok, err)
	}
}

// TestAttrLongerThanItsMessage: an attribute does not read bytes after its message.
func TestAttrLongerThanItsMessage(t *testing.T) {
	body, err := encodeAttr("a", Int64, []int64{3}, []int64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for cut, good := range map[int]bool{0: true, 1: false, 8: false, 24: false} {
		c := bare(nil).over(append(bytes.Clone(body), 9, 9, 9, 9)[:len(body)-cut], 0)
		a := c.decodeAttr()
		if c.err != nil {
			t.Fatal(c.err)
		}
		if v, err := a.Int64s(); (err == nil) != good || good && !slices.Equal(v, []int64{1, 2, 3}) || !good && !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("cut by %d bytes: %v %v", cut, v, err)
		}
	}
}
