package h5

import (
	"blobio/internal/base/fault"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// boxes reads all boxes of an array of rows and columns.
func boxes(t *testing.T, what string, d *Dataset, element func(r, c int64) int32) {
	t.Helper()
	rows, cols := d.Dims()[0], d.Dims()[1]
	for r0 := range rows {
		for r1 := r0 + 1; r1 <= rows; r1++ {
			for c0 := range cols {
				for c1 := c0 + 1; c1 <= cols; c1++ {
					var want []int32
					for r := r0; r < r1; r++ {
						for c := c0; c < c1; c++ {
							want = append(want, element(r, c))
						}
					}
					got := make([]int32, len(want))
					if err := d.Read([]int64{r0, c0}, []int64{r1 - r0, c1 - c0}, got); err != nil || !slices.Equal(got, want) {
						t.Fatalf("%s [%d:%d, %d:%d]: %v, want %v: %v", what, r0, r1, c0, c1, got, want, err)
					}
				}
			}
		}
	}
}

// TestSmall reads the files of small.py: each kind of chunk index, dense links and attributes.
func TestSmall(t *testing.T) {
	f := openPath(t, "testdata/small.h5")
	for _, name := range []string{"plain", "single", "fixed", "gz", "grow", "grow2"} {
		d, err := f.Dataset("/" + name)
		if err != nil {
			t.Fatal(err)
		}
		boxes(t, name, d, func(r, c int64) int32 { return int32(6*r + c) })
	}
	d, err := f.Dataset("/paged")
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]int8, 1500), make([]int8, 1500)
	for i := 5; i < 9; i++ {
		want[i] = 1
	}
	if err := d.Read(nil, nil, got); err != nil || !slices.Equal(got, want) {
		t.Errorf("paged: %v", err)
	}
	attrs, err := f.Lookup("/attrs")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		a, err := attrs.Attr(fmt.Sprintf("a%02d", i))
		if err != nil {
			t.Error(err)
			continue
		}
		v, err := a.Int64s()
		if err != nil || len(v) != i || i > 0 && v[i-1] != int64(i-1) {
			t.Errorf("a%02d: %v %v", i, v, err)
		}
	}
	for name, n := range map[string]int{"dense": 30, "ordered": 12} {
		g := members(t, f, "/"+name)
		for i := range n {
			if l, err := g.Link(fmt.Sprintf("soft%02d", i)); err != nil || l.Kind != LinkSoft || l.Name != fmt.Sprintf("soft%02d", i) {
				t.Errorf("%s: soft%02d: %+v %v", name, i, l, err)
			}
		}
		if _, err := g.Link("soft99"); !errors.Is(err, fault.ErrMissing) {
			t.Errorf("%s: a link that is not there: %v", name, err)
		}
	}
}

// pack applies filters in the order of ids, as HDF5 does on writing.
func pack(t *testing.T, b []byte, width int, ids ...uint16) []byte {
	t.Helper()
	for _, id := range ids {
		switch id {
		case filterShuffle:
			n := len(b) / width
			out := bytes.Clone(b)
			for i := range n {
				for j := range width {
					out[j*n+i] = b[i*width+j]
				}
			}
			b = out
		case filterDeflate:
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			_, err := w.Write(b)
			if err = errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			b = z.Bytes()
		case filterFletcher:
			b = binary.LittleEndian.AppendUint32(bytes.Clone(b), fletcher32(b))
		}
	}
	return b
}

// chunked returns a dataset of 5 x 7 int32 in chunks of 3 x 4, at the offsets in its index.
func chunked(file []byte, index list, ids ...uint16) *Dataset {
	f := &File{src: source{r: bytes.NewReader(file), size: int64(len(file))}, name: "test.h5", offSize: 8, lenSize: 8}
	d := &Dataset{Object: &Object{f: f, h: &header{}, path: "/x"}, typ: Int32, index: &chunkIndex{find: index.find},
		space: space{dims: []int64{5, 7}}, lay: layout{storage: Chunked, chunk: []int64{3, 4}, elem: 4}, filters: filterChain{f: f, width: 4}}
	for _, id := range ids {
		x := filter{id: id}
		if id == filterShuffle {
			x.args = []uint32{4}
		}
		d.filters.steps = append(d.filters.steps, x)
	}
	return d
}

// list is an index of chunks by grid index.
type list map[[2]int64]chunkRef

func (l list) find(grid []int64) (chunkRef, bool, error) {
	c, ok := l[[2]int64(grid)]
	return c, ok, nil
}

// grid returns the file and the index of an array with element 10*row+column, without the chunk at 1, 0.
func grid(t *testing.T, ids ...uint16) (file []byte, index list) {
	index = list{}
	for g0 := range int64(2) {
		for g1 := range int64(2) {
			if g0 == 1 && g1 == 0 {
				continue
			}
			var b []byte
			for r := range int64(3) {
				for c := range int64(4) {
					b = binary.LittleEndian.AppendUint32(b, uint32(10*(3*g0+r)+4*g1+c))
				}
			}
			b = pack(t, b, 4, ids...)
			index[[2]int64{g0, g1}] = chunkRef{addr: int64(len(file)), size: int64(len(b))}
			file = append(file, b...)
		}
	}
	return file, index
}

// TestChunks reads all boxes of a chunked array with one missing chunk, with every order of filters.
func TestChunks(t *testing.T) {
	for _, ids := range [][]uint16{nil, {filterShuffle}, {filterDeflate}, {filterFletcher}, {filterShuffle, filterDeflate}, {filterShuffle, filterDeflate, filterFletcher}, {filterFletcher, filterDeflate}} {
		file, index := grid(t, ids...)
		d := chunked(file, index, ids...)
		d.fill = []byte{255, 255, 255, 255}
		boxes(t, fmt.Sprint("filters ", ids), d, func(r, c int64) int32 {
			if r >= 3 && c < 4 {
				return -1
			}
			return int32(10*r + c)
		})
	}
}

// TestChunkFilters tests masks, old checksums and damaged chunks.
func TestChunkFilters(t *testing.T) {
	ids := []uint16{filterShuffle, filterDeflate, filterFletcher}
	plain := make([]byte, 48)
	for i := range plain {
		plain[i] = byte(i * 7)
	}
	d := chunked(nil, nil, ids...)
	for mask := range uint32(8) {
		var some []uint16
		for i, id := range ids {
			if mask>>i&1 == 0 {
				some = append(some, id)
			}
		}
		if got, err := d.filters.undo(pack(t, plain, 4, some...), mask, 48, 0); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("mask %03b: %v", mask, err)
		}
	}

	only := func(id uint16) *Dataset { return chunked(nil, nil, id) }
	refused := func(what string, d *Dataset, b []byte, class error) {
		t.Helper()
		if _, err := d.filters.undo(b, 0, 48, 0); !errors.Is(err, class) {
			t.Errorf("%s: %v, want %v", what, err, class)
		}
	}
	sum := fletcher32(plain)
	old := sum<<8&0xff00ff00 | sum>>8&0x00ff00ff
	if got, err := only(filterFletcher).filters.undo(binary.LittleEndian.AppendUint32(bytes.Clone(plain), old), 0, 48, 0); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("a checksum of HDF5 before 1.6.3: %v", err)
	}
	refused("a wrong checksum", only(filterFletcher), binary.LittleEndian.AppendUint32(bytes.Clone(plain), sum^1), fault.ErrChecksum)
	z := pack(t, plain, 4, filterDeflate)
	refused("a cut stream", only(filterDeflate), z[:len(z)-5], fault.ErrCorrupt)
	refused("a stream without its checksum", only(filterDeflate), z[:len(z)-4], fault.ErrCorrupt)
	bad := bytes.Clone(z)
	bad[len(bad)-1] ^= 1
	refused("a stream with a wrong checksum", only(filterDeflate), bad, fault.ErrChecksum)
	for _, n := range []int{47, 49} {
		refused(fmt.Sprintf("%d of 48 bytes", n), only(filterDeflate), pack(t, append(bytes.Clone(plain), 0)[:n], 4, filterDeflate), fault.ErrCorrupt)
		refused(fmt.Sprintf("%d of 48 bytes", n), only(filterShuffle), append(bytes.Clone(plain), 0)[:n], fault.ErrCorrupt)
	}
	if _, err := only(filterDeflate).filters.undo(z, 0, 1<<40, 0); !errors.Is(err, fault.ErrCorrupt) { // nothing of that size is allocated
		t.Errorf("2^40 bytes of %d: %v", len(z), err)
	}
	if got, err := only(filterShuffle).filters.undo(pack(t, plain[:47], 4, filterShuffle), 0, 47, 0); err != nil || !bytes.Equal(got, plain[:47]) {
		t.Errorf("a rest of 3 bytes: %v, %v, want %v", got, err, plain[:47])
	}
}

// TestChunkPlaces tests chunks outside the file or of a wrong size.
func TestChunkPlaces(t *testing.T) {
	file, index := grid(t)
	for _, tc := range []struct {
		what  string
		ref   chunkRef
		class error
	}{
		{"past the end", chunkRef{addr: int64(len(file)), size: 48}, fault.ErrTruncated},
		{"over the end", chunkRef{addr: int64(len(file)) - 47, size: 48}, fault.ErrTruncated},
		{"at 2^62", chunkRef{addr: 1 << 62, size: 48}, fault.ErrTruncated},
		{"too short", chunkRef{addr: 0, size: 47}, fault.ErrCorrupt},
		{"too long", chunkRef{addr: 0, size: 49}, fault.ErrCorrupt},
	} {
		l := list{{0, 0}: tc.ref, {0, 1}: index[[2]int64{0, 1}]}
		if err := chunked(file, l).Read([]int64{0, 0}, []int64{1, 1}, make([]int32, 1)); !errors.Is(err, tc.class) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.class)
		}
	}
	f := &File{}
	for _, l := range []layout{
		{chunk: []int64{0, 4}, elem: 4}, {chunk: []int64{4, 0}, elem: 4}, {chunk: []int64{4}, elem: 0},
		{chunk: []int64{maxChunk}, elem: 2}, {chunk: []int64{1 << 32, 1 << 32}, elem: 1},
	} {
		c := f.over(nil, 0)
		if l.check(c); !errors.Is(c.err, fault.ErrCorrupt) && !errors.Is(c.err, fault.ErrTooLarge) {
			t.Errorf("chunk %v of %d bytes: %v", l.chunk, l.elem, c.err)
		}
	}
}

// TestSeals: another block with the address or the length of a verified block does not count as verified.
func TestSeals(t *testing.T) {
	var s sealSet
	s.add(100, 20)
	if !s.has(100, 20) || s.has(100, 24) || s.has(100, 16) || s.has(96, 20) {
		t.Error("another block is taken for the one that was checked")
	}
}

// TestFillPhase: fill values are right even for bytes that begin inside an element.
func TestFillPhase(t *testing.T) {
	d := &Dataset{fill: []byte{1, 2, 3, 4}}
	for off := range int64(9) {
		for n := range 11 {
			got, want := make([]byte, n), make([]byte, n)
			d.fillBytes(got, off)
			for i := range want {
				want[i] = 1 + byte((off+int64(i))%4)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes from %d on: %v, want %v", n, off, got, want)
			}
		}
	}
}
