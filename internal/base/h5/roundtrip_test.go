package h5

import (
	"blobio/internal/base/testfiles"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// blobFile returns a file with two datasets of bytes, as in process-centric blob files.
func blobFile(t testing.TB) []byte {
	b := NewBuilder()
	h := b.Dataset("header_blob", Uint8, []int64{1000}, nil)
	d := b.Dataset("data_blob", Uint8, []int64{5000}, nil)
	hb, db := make([]byte, 1000), make([]byte, 5000)
	for i := range db {
		db[i] = byte(i * 7)
		hb[i%1000] = byte(i)
	}
	file := build(t, b, map[*DatasetBuilder][]byte{h: hb, d: db})
	if h.Offset() != 2048 || d.Offset() != 3048 {
		t.Fatalf("data at %d and %d, want 2048 and 3048", h.Offset(), d.Offset())
	}
	return file
}

// allTypes returns every type of the writer with two values.
func allTypes() []struct {
	t Type
	v any
} {
	return []struct {
		t Type
		v any
	}{
		{Int8, []int8{-128, 127}}, {Int16, []int16{-32768, 1}}, {Int32, []int32{-1 << 31, 5}}, {Int64, []int64{-1 << 63, 7}},
		{Uint8, []uint8{0, 255}}, {Uint16, []uint16{1, 65535}}, {Uint32, []uint32{2, 1<<32 - 1}}, {Uint64, []uint64{3, 1<<64 - 1}},
		{Float32, []float32{-0.5, 3.25e38}}, {Float64, []float64{1e308, -2.5}},
		{FixedString(6), []string{"hello", ""}},
	}
}

// treeFile returns a file with groups, all types, scalars, empty datasets, rank 32 and more attributes than fit in a block.
func treeFile(t testing.TB) []byte {
	b := NewBuilder()
	data := map[*DatasetBuilder][]byte{}
	b.Attr("title", FixedString(20), nil, "a tree")
	b.Attr("answer", Int32, nil, 42)
	for _, x := range allTypes() {
		name := strings.Map(func(r rune) rune {
			if strings.ContainsRune("[]", r) {
				return '_'
			}
			return r
		}, x.t.String())
		b.Attr(name, x.t, []int64{2}, x.v)
		d := b.Dataset("d_"+name, x.t, []int64{2}, nil)
		raw, err := encodeValue(nil, x.t, 2, x.v)
		if err != nil {
			t.Fatal(err)
		}
		data[d] = raw
	}
	b.Dataset("scalar", Float64, nil, nil)
	b.Dataset("empty", Int32, []int64{3, 0, 2}, &DatasetOptions{Align: 4096})
	dims := make([]int64, 32)
	for i := range dims {
		dims[i] = 1
	}
	dims[3], dims[31] = 2, 3
	b.Dataset("deep", Int16, dims, &DatasetOptions{Align: 512})
	group(t, b, "many", func(b *Builder) {
		for i := range 300 {
			b.Attr(fmt.Sprintf("attr_%03d", i), Int32, []int64{int64(i % 7)}, make([]int32, i%7))
		}
		b.Attr("big", Int32, []int64{16000}, make([]int32, 16000))
	})
	group(t, b, "none", func(*Builder) {})
	return build(t, b, data)
}

func TestTree(t *testing.T) {
	f := openBytes(t, treeFile(t))
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range allTypes() {
		name := strings.NewReplacer("[", "_", "]", "_").Replace(x.t.String())
		a, err := root.Attr(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Value()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x.v, v); d != "" || a.Type != x.t {
			t.Errorf("attribute %s of type %s: %s", name, a.Type, d)
		}
		ds, err := root.Dataset("d_" + name)
		if err != nil {
			t.Fatal(err)
		}
		if ds.Type() != x.t {
			t.Errorf("dataset type %s, want %s", ds.Type(), x.t)
		}
		if x.t.Class() == ClassString {
			raw := make([]byte, ds.Bytes())
			err = ds.ReadRaw(nil, nil, raw)
			v = decodeStrings(raw, ds.typ, ds.Elems())
		} else {
			v = makeSlice(x.t, 2)
			err = ds.Read(nil, nil, v)
		}
		if d := cmp.Diff(x.v, v); d != "" || err != nil {
			t.Errorf("dataset %s: %v %s", name, err, d)
		}
	}
	if a, err := root.Attr("title"); err != nil {
		t.Error(err)
	} else if s, err := a.Text(); s != "a tree" {
		t.Error(s, err)
	}
	d, err := f.Dataset("/deep")
	if err != nil {
		t.Fatal(err)
	}
	if off, ok := d.Offset(); !ok || off%512 != 0 || len(d.Dims()) != 32 {
		t.Errorf("deep: offset %d, %v, dims %v", off, ok, d.Dims())
	}
	n := 0
	for a, err := range members(t, f, "many").Attrs() {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("attr_%03d", n); a.Name != want && a.Name != "big" {
			t.Fatalf("attribute %s, want %s", a.Name, want)
		}
		n++
	}
	if n != 301 {
		t.Errorf("%d attributes, want 301", n)
	}
}

func TestJudgeDump(t *testing.T) {
	for name, file := range map[string][]byte{"blob": blobFile(t), "tree": treeFile(t)} {
		path := filepath.Join(t.TempDir(), name+".h5")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		out := testfiles.Run(t, "h5dump", "-p", path)
		if strings.Contains(out, "unable") || strings.Contains(out, "rror") {
			t.Errorf("h5dump %s:\n%s", name, out)
		}
		testfiles.Run(t, "h5ls", "-rv", path)
	}
}
