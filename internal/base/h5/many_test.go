package h5

import (
	"blobio/internal/base/crashtest"
	"bytes"
	"fmt"
	"testing"
	"time"
)

// manyFile returns a file with n groups in the root, each with an attribute.
func manyFile(t testing.TB, n int) []byte {
	tpl, err := NewTemplate(func(b *Builder) { b.Attr("i", Int32, nil, 0) })
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder()
	for i := range n {
		b.Stamp(fmt.Sprintf("B%05d_x", i), tpl)
	}
	file := build(t, b, nil)
	for i, s := range b.Stamps() {
		le.PutUint32(tpl.Attr(file[s.Offset():], 0), uint32(i))
	}
	return file
}

// TestManyMembers tests trees of zero to three levels above the symbol nodes, near full nodes.
func TestManyMembers(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 255, 256, 257, 511, 8191, 8192, 8193, crashtest.Times(20000, 100000)} {
		begin := time.Now()
		file := manyFile(t, n)
		f := openBytes(t, file)
		root, err := f.Root()
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for l, err := range root.Members() {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("B%05d_x", i); l.Name != want {
				t.Fatalf("member %d of %d is %s, want %s", i, n, l.Name, want)
			}
			i++
		}
		if i != n {
			t.Fatalf("%d members, want %d", i, n)
		}
		for i := 0; i < n; i += 1 + n/1000 {
			o, err := root.Lookup(fmt.Sprintf("B%05d_x", i))
			if err != nil {
				t.Fatal(err)
			}
			a, err := o.Attr("i")
			if err != nil {
				t.Fatal(err)
			}
			if v, err := a.Int64s(); err != nil || v[0] != int64(i) {
				t.Fatal(v, err)
			}
		}
		for _, name := range []string{"A", "B00000_", "C"} {
			if _, err := root.Lookup(name); err == nil {
				t.Fatalf("%q was found", name)
			}
		}
		if n > 10000 {
			t.Logf("%d members, %d bytes: %v", n, len(file), time.Since(begin))
		}
	}
}

func BenchmarkMembers100k(b *testing.B) {
	file := manyFile(b, 100000)
	b.ReportAllocs()
	for b.Loop() {
		f, err := NewFile(bytes.NewReader(file), int64(len(file)), "")
		if err != nil {
			b.Fatal(err)
		}
		root, err := f.Root()
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range root.Members() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 100000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkLookup100k(b *testing.B) {
	f := openBytes(b, manyFile(b, 100000))
	root, err := f.Root()
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i = (i + 7919) % 100000
		if _, err := root.Lookup(fmt.Sprintf("B%05d_x", i)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadContiguous(b *testing.B) {
	bl := NewBuilder()
	const n = 64 << 20
	d := bl.Dataset("x", Float64, []int64{n / 8}, nil)
	file := build(b, bl, map[*DatasetBuilder][]byte{d: make([]byte, n)})
	f := openBytes(b, file)
	ds, err := f.Dataset("x")
	if err != nil {
		b.Fatal(err)
	}
	raw, same, other := make([]byte, n), make([]float64, n/8), make([]float32, n/8)
	for name, op := range map[string]func() error{
		"raw":     func() error { _, err := ds.ReadAt(raw, 0); return err },
		"typed":   func() error { return ds.Read(nil, nil, same) },
		"convert": func() error { return ds.Read(nil, nil, other) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				if err := op(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadChunked reads the chunked datasets of the fixture: 60 elements in a few chunks, and 1,500 chunks of one byte, most
// of them missing.
func BenchmarkReadChunked(b *testing.B) {
	for _, name := range []string{"gz", "grow", "grow2", "paged"} {
		b.Run(name, func(b *testing.B) {
			ds, err := openPath(b, "testdata/small.h5").Dataset(name)
			if err != nil {
				b.Fatal(err)
			}
			raw := make([]byte, ds.Bytes())
			b.SetBytes(ds.Bytes())
			for b.Loop() {
				if err := ds.ReadRaw(nil, nil, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheckpoint opens 2,000 groups of 18 attributes and 4 datasets, like a checkpoint, and looks up every attribute and
// dataset by name.
func BenchmarkCheckpoint(b *testing.B) {
	const blocks = 2000
	bl := NewBuilder()
	var attrs, fields []string
	for i := range 18 {
		attrs = append(attrs, fmt.Sprintf("attribute_%d", i))
	}
	for i := range 4 {
		fields = append(fields, fmt.Sprintf("field_%d", i))
	}
	for i := range blocks {
		group(b, bl, fmt.Sprintf("B%06d", i), func(g *Builder) {
			for k, a := range attrs {
				n := 3
				if k == 17 {
					n = 1000
				}
				g.Attr(a, Int32, []int64{int64(n)}, make([]int32, n))
			}
			for _, name := range fields {
				g.Dataset(name, Float64, []int64{4, 4, 4}, nil)
			}
		})
	}
	file := build(b, bl, nil)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		f := openBytes(b, file)
		root, err := f.Root()
		if err != nil {
			b.Fatal(err)
		}
		for l, err := range root.Members() {
			if err != nil {
				b.Fatal(err)
			}
			o, err := root.Open(l)
			if err != nil {
				b.Fatal(err)
			}
			g, err := o.Group()
			if err != nil {
				b.Fatal(err)
			}
			for _, a := range attrs {
				if _, err := g.Attr(a); err != nil {
					b.Fatal(err)
				}
			}
			for _, name := range fields {
				if _, err := g.Dataset(name); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/blocks, "µs/block")
}
