package cello

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/base/h5"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
)

// seedRows lists the attributes and datasets of the format with their types in a file. docs/format-cello.md has the same
// table.
var seedRows = []struct {
	where, name string // "/", "block" or "data"
	typ         h5.Type
	n           int64 // number of elements; 0: the number of cells or particles
	value       func(m *amr.Meta, b *amr.Block) []float64
}{
	{"/", "cycle", h5.Int32, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{float64(m.Cycle)} }},
	{"/", "dt", h5.Float64, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{m.Dt} }},
	{"/", "time", h5.Float64, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{m.Time} }},
	{"/", "rank", h5.Int32, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{float64(m.Rank)} }},
	{"/", "lower", h5.Float64, 3, func(m *amr.Meta, _ *amr.Block) []float64 { return m.Lower[:] }},
	{"/", "upper", h5.Float64, 3, func(m *amr.Meta, _ *amr.Block) []float64 { return m.Upper[:] }},
	{"/", "max_level", h5.Int32, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{float64(m.MaxLevel)} }},
	{"block", "cycle", h5.Int32, 1, func(_ *amr.Meta, b *amr.Block) []float64 { return []float64{float64(b.Cycle)} }},
	{"block", "dt", h5.Float64, 1, func(_ *amr.Meta, b *amr.Block) []float64 { return []float64{b.Dt} }},
	{"block", "time", h5.Float64, 1, func(_ *amr.Meta, b *amr.Block) []float64 { return []float64{b.Time} }},
	{"block", "lower", h5.Float64, 3, func(m *amr.Meta, b *amr.Block) []float64 { lo, _ := b.Index.Bounds(&m.Geometry); return lo[:] }},
	{"block", "upper", h5.Float64, 3, func(m *amr.Meta, b *amr.Block) []float64 { _, hi := b.Index.Bounds(&m.Geometry); return hi[:] }},
	{"block", "index", h5.Int32, 3, func(_ *amr.Meta, b *amr.Block) []float64 { return threeOf(b.Index) }},
	{"block", "adapt_buffer", h5.Int32, 1000, nil},
	{"block", "num_field_data", h5.Int32, 1, func(*amr.Meta, *amr.Block) []float64 { return []float64{1} }},
	{"block", "array", h5.Int32, 3, func(_ *amr.Meta, b *amr.Block) []float64 { return threeOf(b.Index.Array()) }},
	{"block", "enzo_CellWidth", h5.Float64, 3, func(m *amr.Meta, b *amr.Block) []float64 { h := m.CellWidth(b.Index.Level()); return h[:] }},
	{"block", "enzo_GridDimension", h5.Int32, 3, func(m *amr.Meta, _ *amr.Block) []float64 {
		return []float64{float64(m.Block[0] + 2*m.Ghost[0]), float64(m.Block[1] + 2*m.Ghost[1]), float64(m.Block[2] + 2*m.Ghost[2])}
	}},
	{"block", "enzo_GridEndIndex", h5.Int32, 3, func(m *amr.Meta, _ *amr.Block) []float64 {
		return []float64{float64(m.Block[0] + m.Ghost[0] - 1), float64(m.Block[1] + m.Ghost[1] - 1), float64(m.Block[2] + m.Ghost[2] - 1)}
	}},
	{"block", "enzo_GridLeftEdge", h5.Float64, 3, func(m *amr.Meta, b *amr.Block) []float64 { lo, _ := b.Index.Bounds(&m.Geometry); return lo[:] }},
	{"block", "enzo_GridStartIndex", h5.Int32, 3, func(m *amr.Meta, _ *amr.Block) []float64 { return threeOf(m.Ghost) }},
	{"block", "enzo_dt", h5.Float64, 1, func(_ *amr.Meta, b *amr.Block) []float64 { return []float64{b.Dt} }},
	{"block", "enzo_redshift", h5.Float64, 1, func(m *amr.Meta, _ *amr.Block) []float64 { return []float64{m.Redshift} }},
	{"data", "field_density", h5.Float64, 0, nil},
	{"data", "particle_trace_x", 0, 0, nil},
}

func threeOf[T int | int32](v [3]T) []float64 {
	return []float64{float64(v[0]), float64(v[1]), float64(v[2])}
}

// TestSeedAttributes: files of Enzo-E have each row of the list with this type and shape, this module uses the same name
// and meaning, and the documents have the row.
func TestSeedAttributes(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "format-cello.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := tiny().build(t)
	mem := memDir(t)
	if err := c.write(context.Background(), 2, false, "c", &Options{Files: 2, FS: mem}); err != nil {
		t.Fatal(err)
	}
	for _, r := range seedRows {
		t.Run(r.where+" "+r.name, func(t *testing.T) {
			cell := "| `" + r.name + "` |"
			if r.where == "data" {
				cell = "| `" + r.name[:strings.Index(r.name, "_")+1]
			}
			if !strings.Contains(string(doc), cell) {
				t.Errorf("docs/format-cello.md has no row %s", cell)
			}
			t.Run("own", func(t *testing.T) { seedRow(t, mem, "c", r.where, r.name, r.typ, r.n, r.value) })
			t.Run("real", func(t *testing.T) {
				for _, name := range []string{"CheckE-05", "CheckP2-05"} {
					seedRow(t, nil, testfiles.Dir(t, "cello", name), r.where, r.name, r.typ, r.n, r.value)
				}
			})
		})
	}
}

func seedRow(t *testing.T, fsys *vfs.Mem, dir, where, name string, typ h5.Type, n int64, value func(*amr.Meta, *amr.Block) []float64) {
	t.Helper()
	ctx := context.Background()
	o := &OpenOptions{}
	if fsys != nil {
		o.FS = fsys
	}
	k, err := Open(ctx, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for i, info := range k.Blocks() {
		b, err := k.Head(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		f, err := k.file(info.File)
		if err != nil {
			t.Fatal(err)
		}
		path := "/" + info.Name
		if where == "/" {
			path = "/"
		}
		o, err := f.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		g, err := o.Group()
		if err != nil {
			t.Fatal(err)
		}
		if where == "data" {
			d, err := g.Dataset(name)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(k.Meta().Rank)
			if strings.HasPrefix(name, particlePrefix) {
				want = 1
			}
			if int64(d.Rank()) != want || typ != 0 && d.Type() != typ {
				t.Fatalf("%s of %s: %v, rank %d", name, info.Name, d.Type(), d.Rank())
			}
			continue
		}
		a, err := g.Attr(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Type != typ || len(a.Dims) != 1 || a.Dims[0] != n {
			t.Fatalf("%s of %s: %v %v, want %v [%d]", name, path, a.Type, a.Dims, typ, n)
		}
		if value == nil {
			raw, err := a.Raw()
			must(err)
			if _, err := decodeAdapt(raw); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := a.Float64s()
		must(err)
		want := value(k.Meta(), b)
		axes := len(want)
		if axes == 3 && a.Type == h5.Float64 {
			axes = k.Meta().Rank // values on other axes are junk in Enzo-E's files
			if info.Level < 0 && where == "block" {
				axes = 0 // below level 0 the values on all axes are junk
			}
		}
		for x := range axes {
			if got[x] != want[x] {
				t.Fatalf("%s of %s: %v, want %v", name, path, got, want)
			}
		}
	}
}
