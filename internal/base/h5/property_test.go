package h5

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBuilderProperty: any built file can be read back: members, shapes, attributes, disjoint data, and boxes.
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
		attrs := rapid.IntRange(0, 20).Draw(t, "attrs")
		for i := range attrs {
			b.Attr(fmt.Sprint("a", i), Int32, []int64{3}, []int32{int32(i), 7, -1})
		}
		for i := range rapid.IntRange(0, 40).Draw(t, "datasets") {
			typ := rapid.SampledFrom(plain).Draw(t, "type")
			dims := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "dims")
			o := &DatasetOptions{Align: rapid.SampledFrom([]int64{0, 1, 3, 512}).Draw(t, "align")}
			name := fmt.Sprint("d", i)
			sets = append(sets, want{name, b.Dataset(name, typ, dims, o), dims, typ})
		}
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
			if k != attrs {
				t.Fatalf("%s: %d attributes, want %d", o.Path(), k, attrs)
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

// checkBox compares a random box with an element-by-element read.
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

// TestHalf converts binary16 numbers to float64.
func TestHalf(t *testing.T) {
	for h, want := range map[uint16]float64{0: 0, 1: 0x1p-24, 0x3ff: 0x3ffp-24, 0x400: 0x1p-14, 0x3c00: 1, 0x3c01: 1 + 0x1p-10, 0xc500: -5, 0x7bff: 65504, 0xfc00: math.Inf(-1)} {
		if x := halfFloat(h); x != want {
			t.Errorf("%#04x is %v, want %v", h, x, want)
		}
	}
	if x := halfFloat(0x7e00); !math.IsNaN(x) {
		t.Errorf("%v, want NaN", x)
	}
}
