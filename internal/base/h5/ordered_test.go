package h5

import (
	"blobio/internal/base/fault"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// written assembles a laid-out Ordered with the stored chunks that chunk returns.
func written(t testing.TB, b *Ordered, sets []*OrderedDataset, chunk func(d *OrderedDataset, i int) ([]byte, uint32)) []byte {
	t.Helper()
	at, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, at)
	for _, d := range sets {
		for i := range d.Chunks() {
			c, mask := chunk(d, i)
			d.SetChunk(i, int64(len(file)), int64(len(c)), mask)
			file = append(file, c...)
		}
	}
	meta, err := b.Encode(int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	copy(file, meta)
	return file
}

// TestOrderedChunks reads every chunk, with one or several index levels, and the part beyond the array.
func TestOrderedChunks(t *testing.T) {
	for _, c := range []struct {
		dims, chunk []int64
		filters     Pipeline
	}{
		{[]int64{7}, []int64{7}, Pipeline{}},
		{[]int64{1000}, []int64{3}, Pipeline{}},
		{[]int64{64 * 64}, []int64{1}, Pipeline{}}, // two full levels
		{[]int64{64*64 + 1}, []int64{1}, Pipeline{}},
		{[]int64{5, 7, 9}, []int64{1, 3, 9}, Pipeline{Shuffle: true, Deflate: 1}},
		{[]int64{5, 7, 9}, []int64{2, 2, 2}, Pipeline{Shuffle: true, Zstd: 3}},
		{[]int64{0, 4}, []int64{1, 4}, Pipeline{Deflate: 9}},
		{[]int64{40, 33}, []int64{16, 33}, Pipeline{Zstd: 22}},
	} {
		t.Run(fmt.Sprint(c.dims, c.chunk), func(t *testing.T) {
			b := NewOrdered()
			d := b.Dataset("d", Int32, c.dims, &OrderedOptions{Grow: true, Chunk: c.chunk, Filters: c.filters, Fill: []byte{1, 2, 3, 4}})
			n, _ := elems(c.dims)
			want := make([]int32, n)
			for i := range want {
				want[i] = int32(i * i)
			}
			f, err := NewFilterer(c.filters)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			file := written(t, b, []*OrderedDataset{d}, func(_ *OrderedDataset, i int) ([]byte, uint32) {
				out, mask, err := f.Encode(nil, chunkOf(want, c.dims, c.chunk, i), nil, 4)
				if err != nil {
					t.Fatal(err)
				}
				return out, mask
			})
			r, err := openBytes(t, file).Dataset("/d")
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int32, n)
			if err := r.Read(nil, nil, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Error("other values")
			}
			if r.MaxDims()[0] != Unlimited || !slices.Equal(r.Dims(), c.dims) || !bytes.Equal(r.fill, []byte{1, 2, 3, 4}) {
				t.Errorf("shape %v up to %v, fill value %v", r.Dims(), r.MaxDims(), r.fill)
			}
		})
	}
}

// chunkOf returns chunk i of an array, little-endian, with zeros beyond the array.
func chunkOf(v []int32, dims, chunk []int64, i int) []byte {
	n, _ := elems(chunk)
	out := make([]byte, 0, 4*n)
	start := make([]int64, len(dims))
	for k := len(dims) - 1; k >= 0; k-- {
		c := ceilDiv(dims[k], chunk[k])
		start[k] = int64(i) % c * chunk[k]
		i /= int(c)
	}
	for j := range n {
		at, in := int64(0), true
		rest := j
		index := make([]int64, len(dims))
		for k := len(dims) - 1; k >= 0; k-- {
			index[k] = start[k] + rest%chunk[k]
			rest /= chunk[k]
		}
		for k := range dims {
			at, in = at*dims[k]+index[k], in && index[k] < dims[k]
		}
		x := int32(0)
		if in {
			x = v[at]
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(x))
	}
	return out
}

// TestFilterer: a chunk that compression does not shorten is stored uncompressed, and its mask shows the skipped filter.
func TestFilterer(t *testing.T) {
	noise := make([]byte, 4000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, c := range []struct {
		p    Pipeline
		size int64
		mask uint32
	}{{Pipeline{Deflate: 6}, 4, 1}, {Pipeline{Shuffle: true, Deflate: 6}, 4, 2}, {Pipeline{Shuffle: true, Zstd: 3}, 1, 1}, {Pipeline{Shuffle: true}, 4, 0}} {
		f, err := NewFilterer(c.p)
		if err != nil {
			t.Fatal(err)
		}
		out, mask, err := f.Encode([]byte("before"), noise, nil, c.size)
		if err != nil || mask != c.mask || len(out) != 6+len(noise) || string(out[:6]) != "before" {
			t.Errorf("%+v: %d bytes, mask %b, %v", c.p, len(out), mask, err)
		}
		chain := &filterChain{f: &File{}, steps: c.p.steps(c.size), width: c.size}
		if back, err := chain.undo(out[6:], mask, 4000, 0); err != nil || !bytes.Equal(back, noise) {
			t.Errorf("%+v: back: %v", c.p, err)
		}
		small, mask, err := f.Encode(nil, make([]byte, 4000), make([]byte, 4000), c.size)
		if on := c.p.Deflate+c.p.Zstd > 0; err != nil || mask != 0 || on && len(small) > 100 {
			t.Errorf("%+v: zeros take %d bytes, mask %b, %v", c.p, len(small), mask, err)
		}
		f.Close()
	}
	for _, p := range []Pipeline{{Deflate: 10}, {Deflate: -1}, {Zstd: 23}, {Zstd: -1}, {Deflate: 1, Zstd: 1}} {
		if _, err := NewFilterer(p); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestZstdDamage: truncated, changed or wrongly sized frames are errors, and their lengths cause no allocation.
func TestZstdDamage(t *testing.T) {
	f, err := NewFilterer(Pipeline{Zstd: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, _, err := f.Encode(nil, make([]byte, 4096), nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	chain := &filterChain{f: &File{}, steps: Pipeline{Zstd: 1}.steps(4), width: 4}
	for _, want := range []int64{0, 4095, 4097, 1 << 40} {
		if _, err := chain.undo(z, 0, want, 0); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%d bytes of 4096: %v", want, err)
		}
	}
	for n := range z {
		if _, err := chain.undo(z[:n], 0, 4096, 0); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(z), err)
		}
	}
	sum := &filterChain{f: &File{}, steps: []filter{{id: filterFletcher}, {id: filterZstd}}, width: 4}
	plain := make([]byte, 4096)
	withSum := binary.LittleEndian.AppendUint32(bytes.Clone(plain), fletcher32(plain))
	if z, _, err = f.Encode(nil, withSum, nil, 4); err != nil {
		t.Fatal(err)
	}
	if got, err := sum.undo(z, 0, 4096, 0); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("a checksum before zstd: %v", err)
	}
}

// TestOrderedAttrs: attributes in the header or dense keep their creation order and are found by name.
func TestOrderedAttrs(t *testing.T) {
	for _, long := range []int{10, largestMessage - 200, 70000, 1 << 20} {
		b := NewOrdered()
		d := b.Dataset("d", Float64, nil, nil)
		var names []string
		for i := range 300 {
			name := fmt.Sprintf("attribute %d é", 299-i)
			names = append(names, name)
			d.Attr(name, Int16, []int64{1}, []byte{byte(i), byte(i >> 8)})
		}
		text := strings.Repeat("x", long)
		d.Attr("text", FixedString(long), nil, []byte(text))
		d.NullAttr("null", Float32)
		names = append(names, "text", "null")
		f := openBytes(t, written(t, b, nil, nil))
		o, err := f.Lookup("/d")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for a, err := range o.Attrs() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a.Name)
		}
		if !slices.Equal(got, names) {
			t.Errorf("%d: %d attributes, or another order", long, len(got))
		}
		for i, name := range names[:300] {
			a, err := o.Attr(name)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := a.Int64s(); err != nil || len(v) != 1 || v[0] != int64(i) {
				t.Errorf("%d: %s is %v, %v", long, name, v, err)
			}
		}
		if a, err := o.Attr("text"); err != nil {
			t.Error(err)
		} else if s, err := a.Text(); err != nil || s != text {
			t.Errorf("%d: %d bytes of text, %v", long, len(s), err)
		}
		if a, err := o.Attr("null"); err != nil || !a.Null || a.Elems() != 0 {
			t.Errorf("%d: an attribute without elements: %v", long, err)
		}
	}
}

// TestOrderedRefs: references lead to their datasets, in several heap collections.
func TestOrderedRefs(t *testing.T) {
	b := NewOrdered()
	var sets []*OrderedDataset
	for i := range 3 * perCollection {
		sets = append(sets, b.Dataset(fmt.Sprintf("d%d", i), Int8, []int64{3}, nil))
	}
	for i, d := range sets {
		d.RefAttr("refs", []*OrderedDataset{sets[len(sets)-1-i], sets[0]})
	}
	sets[0].RefList("list", []Ref{{sets[5], 7}, {sets[6], 8}})
	f := openBytes(t, written(t, b, nil, nil))
	addr := map[string]int64{}
	g, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for l, err := range g.Members() {
		if err != nil {
			t.Fatal(err)
		}
		if l.Name != fmt.Sprintf("d%d", k) {
			t.Fatalf("member %d is %s", k, l.Name)
		}
		addr[l.Name] = l.Addr()
		k++
	}
	for i := range sets {
		o, err := f.Lookup(fmt.Sprintf("/d%d", i))
		if err != nil {
			t.Fatal(err)
		}
		a, err := o.Attr("refs")
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.References()
		if want := [][]int64{{addr[fmt.Sprintf("d%d", len(sets)-1-i)]}, {addr["d0"]}}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("d%d refers to %v, %v, want %v", i, got, err, want)
		}
	}
	o, _ := f.Lookup("/d0")
	a, err := o.Attr("list")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.Raw()
	if err != nil || len(raw) != 32 || int64(le.Uint64(raw)) != addr["d5"] || le.Uint32(raw[24:]) != 8 {
		t.Errorf("list % x, %v", raw, err)
	}
	if _, err := a.References(); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a list of pairs as references: %v", err)
	}
}

// TestOrderedUsage: invalid calls are refused before anything is written.
func TestOrderedUsage(t *testing.T) {
	for what, c := range map[string]struct {
		make  func(b *Ordered)
		class error
	}{
		"an empty name":      {func(b *Ordered) { b.Dataset("", Int8, nil, nil) }, fault.ErrUsage},
		"a slash":            {func(b *Ordered) { b.Dataset("a/b", Int8, nil, nil) }, fault.ErrUsage},
		"two of a name":      {func(b *Ordered) { b.Dataset("a", Int8, nil, nil); b.Dataset("a", Int8, nil, nil) }, fault.ErrExist},
		"big endian":         {func(b *Ordered) { b.Dataset("a", Int16|typeBig, nil, nil) }, fault.ErrUnsupported},
		"growth without":     {func(b *Ordered) { b.Dataset("a", Int8, []int64{1}, &OrderedOptions{Grow: true}) }, fault.ErrUsage},
		"chunks of a scalar": {func(b *Ordered) { b.Dataset("a", Int8, nil, &OrderedOptions{Chunk: []int64{}}) }, fault.ErrUsage},
		"a chunk of 0":       {func(b *Ordered) { b.Dataset("a", Int8, []int64{1}, &OrderedOptions{Chunk: []int64{0}}) }, fault.ErrUsage},
		"too many chunks":    {func(b *Ordered) { b.Dataset("a", Int8, []int64{1 << 40}, &OrderedOptions{Chunk: []int64{1}}) }, fault.ErrTooLarge},
		"a fill value of 2":  {func(b *Ordered) { b.Dataset("a", Int8, []int64{1}, &OrderedOptions{Fill: []byte{1, 2}}) }, fault.ErrUsage},
		"levels": {func(b *Ordered) {
			b.Dataset("a", Int8, []int64{1}, &OrderedOptions{Chunk: []int64{1}, Filters: Pipeline{Deflate: 11}})
		}, fault.ErrUsage},
		"an attribute's size": {func(b *Ordered) { b.Attr("a", Int16, []int64{2}, []byte{1}) }, fault.ErrUsage},
		"two attributes":      {func(b *Ordered) { b.NullAttr("a", Int8); b.NullAttr("a", Int8) }, fault.ErrExist},
		"an attribute's name": {func(b *Ordered) { b.NullAttr("a\xff", Int8) }, fault.ErrUsage},
	} {
		b := NewOrdered()
		c.make(b)
		if _, err := b.Layout(); !errors.Is(err, c.class) {
			t.Errorf("%s: %v, want %v", what, err, c.class)
		}
	}
	b := NewOrdered()
	d := b.Dataset("a", Int8, []int64{4}, &OrderedOptions{Chunk: []int64{2}})
	at, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	d.SetChunk(0, at, 2, 0)
	if _, err := b.Encode(at + 4); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a chunk that was not set: %v", err)
	}
	d.SetChunk(1, at+3, 2, 0)
	if _, err := b.Encode(at + 4); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a chunk over the end: %v", err)
	}
}
