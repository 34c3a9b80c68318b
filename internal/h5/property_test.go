package h5

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBuilderProperty: whatever tree is built reads back: members, shapes,
// attributes, offsets that do not overlap, and boxes of data.
func TestBuilderProperty(t *testing.T) {
	plain := []Type{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float32, Float64}
	rapid.Check(t, func(t *rapid.T) {
		b := NewBuilder()
		type want struct {
			path string
			d    *DatasetBuilder
			dims []int64
			typ  Type
		}
		var sets []want
		attrs := map[string]int{}
		var fill func(g *GroupBuilder, path string, depth int)
		fill = func(g *GroupBuilder, path string, depth int) {
			n := rapid.IntRange(0, 20).Draw(t, "attrs")
			for i := range n {
				g.Attr(fmt.Sprint("a", i), Int32, []int64{3}, []int32{int32(i), int32(depth), -1})
			}
			attrs[path] = n
			for i := range rapid.IntRange(0, 12).Draw(t, "datasets") {
				typ := rapid.SampledFrom(plain).Draw(t, "type")
				dims := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "dims")
				o := &DatasetOptions{Align: rapid.SampledFrom([]int64{0, 1, 3, 512}).Draw(t, "align")}
				name := fmt.Sprint("d", i)
				sets = append(sets, want{path + "/" + name, g.Dataset(name, typ, dims, o), dims, typ})
			}
			if depth == 0 {
				return
			}
			for i := range rapid.IntRange(0, 4).Draw(t, "groups") {
				name := fmt.Sprint("g", i)
				fill(g.Group(name), path+"/"+name, depth-1)
			}
		}
		fill(b.Root(), "", 2)
		l, err := b.Layout()
		if err != nil {
			t.Fatal(err)
		}
		file := make([]byte, l.Size)
		for _, p := range l.Pieces {
			copy(file[p.Off:], p.Data)
		}
		used := make([]bool, l.Size)
		for i := range l.Pieces[0].Data {
			used[i] = true
		}
		for _, w := range sets {
			for i := range w.d.Bytes() {
				at := w.d.Offset() + i
				if used[at] {
					t.Fatalf("byte %d is given twice", at)
				}
				used[at] = true
				file[at] = byte(i)
			}
		}
		f, err := NewFile(bytes.NewReader(file), l.Size, "property")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for o, err := range walk(f) {
			if err != nil {
				t.Fatal(err)
			}
			if o.Kind() == KindDataset {
				n++
				continue
			}
			k := 0
			for a, err := range o.Attrs() {
				if err != nil {
					t.Fatal(err)
				}
				if v, err := a.Int64s(); err != nil || a.Name != fmt.Sprint("a", k) || v[0] != int64(k) {
					t.Fatal(a.Name, v, err)
				}
				k++
			}
			path := o.Path()
			if path == "/" {
				path = ""
			}
			if k != attrs[path] {
				t.Fatalf("%s: %d attributes, want %d", o.Path(), k, attrs[path])
			}
		}
		if n != len(sets) {
			t.Fatalf("%d datasets, want %d", n, len(sets))
		}
		for _, w := range sets {
			d, err := f.Dataset(w.path)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(d.Dims()) != fmt.Sprint(w.dims) || d.Type() != w.typ {
				t.Fatal(d.Dims(), d.Type(), w.dims, w.typ)
			}
			if off, ok := d.Offset(); ok != (d.Bytes() > 0) || ok && off != w.d.Offset() {
				t.Fatal(off, ok, w.d.Offset())
			}
			checkBox(t, d)
		}
	})
}

// checkBox compares a drawn box with the slow way, element by element.
func checkBox(t *rapid.T, d *Dataset) {
	dims := d.Dims()
	start, count := make([]int64, len(dims)), make([]int64, len(dims))
	for i, n := range dims {
		start[i] = rapid.Int64Range(0, n).Draw(t, "start")
		count[i] = rapid.Int64Range(0, n-start[i]).Draw(t, "count")
	}
	n, _ := elems(count)
	w := d.Type().Size()
	got := make([]byte, n*w)
	if err := d.ReadRaw(start, count, got); err != nil {
		t.Fatal(err)
	}
	all := make([]byte, d.Bytes())
	if err := d.ReadRaw(nil, nil, all); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		k, at, unit := i, int64(0), int64(1)
		for j := len(dims) - 1; j >= 0; j-- {
			at += (start[j] + k%count[j]) * unit
			unit *= dims[j]
			k /= count[j]
		}
		if !bytes.Equal(got[i*w:(i+1)*w], all[at*w:(at+1)*w]) {
			t.Fatalf("element %d of %v+%v of %v", i, start, count, dims)
		}
	}
}

// TestHalf: all binary16 numbers go to float64 and back.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		x := halfFloat(uint16(h))
		if math.IsNaN(x) {
			continue
		}
		if got, ok := toHalf(x); !ok || got != uint16(h) {
			t.Fatalf("%#04x is %v, back %#04x %v", h, x, got, ok)
		}
	}
	for _, x := range []float64{65520, 1e-9, 1.0001, math.MaxFloat64} {
		if h, ok := toHalf(x); ok {
			t.Errorf("%v became %#04x", x, h)
		}
	}
}
