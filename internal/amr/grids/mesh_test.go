package grids

import (
	"math"
	"path/filepath"
	"testing"

	"blobio/amr"
	"blobio/amr/blocks"
	"blobio/amr/plotfile"
	"blobio/internal/amr/gen"
)

// generated is a mesh with particles, refined in a shell.
func generated(t *testing.T, rank int) (blocks.Source, []amr.Index, []bool) {
	t.Helper()
	g := gen.Geometry(rank, 2, 4, 0, 2)
	g.MinLevel = 0
	tree, err := gen.Shock(&g, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	s := gen.NewSet(tree, 1, gen.Fields(2, amr.Float32), gen.Tracers(rank))
	s.Particles = 3
	m := &blocks.Memory{M: s.Meta}
	var leaf []bool
	order := amr.Morton{}.Order(tree)
	for _, x := range order {
		m.List = append(m.List, s.Block(x))
		leaf = append(leaf, tree.Leaf(x))
	}
	return m, order, leaf
}

func meshOf(t *testing.T, src blocks.Source, index []amr.Index, leaf []bool) *Mesh {
	t.Helper()
	m, err := OfBlocks(src, index, leaf)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStats: figures are those of a plain loop over the cells of leaves.
func TestStats(t *testing.T) {
	src, index, leaf := generated(t, 2)
	m := meshOf(t, src, index, leaf)
	list := src.(*blocks.Memory).List
	v := list[0].Field(m.Fields[0].Name)
	nan := v
	for i, b := range list { // a NaN and an infinity in a leaf
		if leaf[i] {
			nan = b.Field(m.Fields[0].Name)
			break
		}
	}
	put := func(k int, x float32) { amrPut(nan.Data, k, x) }
	put(0, float32(math.NaN()))
	put(1, float32(math.Inf(1)))
	got, err := m.Stats(t.Context(), []int{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &src.Meta().Geometry
	var cells int64
	sum, volume, lo := 0.0, 0.0, math.Inf(1)
	for i, b := range list {
		w := g.CellWidth(b.Index.Level())
		if !leaf[i] {
			continue
		}
		for _, x := range floats(amr.Float32, b.Field(m.Fields[0].Name).Data) {
			if cells++; x-x == 0 {
				sum, volume, lo = sum+x*w[0]*w[1], volume+w[0]*w[1], min(lo, x)
			}
		}
	}
	if x := got[0]; x.Cells != cells || x.NaN != 1 || x.Inf != 1 || math.Abs(x.Total-sum) > 1e-12 || math.Abs(x.Volume-volume) > 1e-12 || x.Min != lo {
		t.Errorf("%+v, want %d cells, total %v, volume %v, least %v", x, cells, sum, volume, lo)
	}
}

// TestCopies: a copy in another form, order and with other files is equal, one in which a value or the refinement differs is not.
func TestCopies(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		src, index, leaf := generated(t, rank)
		m := meshOf(t, src, index, leaf)
		dir := filepath.Join(t.TempDir(), "plt")
		if err := WritePlotfile(t.Context(), src, index, leaf, dir, &plotfile.WriteOptions{Files: 2, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		p := plotMesh(t, dir)
		c, err := Diff(t.Context(), m, p, nil, Tolerance{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Equal() || len(c.Particles) != len(m.Kinds) || len(m.Kinds) == 0 || c.Particles[0].A == 0 || c.Fields[0].Cells == 0 {
			t.Fatalf("rank %d: %+v", rank, c)
		}
		// as blocks again
		f, err := plotfile.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tree, err := f.Tree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i2, l2 := tree.Blocks()
		if c, err = Diff(t.Context(), p, meshOf(t, tree, i2, l2), nil, Tolerance{}, nil); err != nil || !c.Equal() {
			t.Fatalf("rank %d: %+v, %v", rank, c, err)
		}
		// the coarse level alone: other refinement
		coarse, err := blocks.Select(t.Context(), src, blocks.Selection{Keep: func(x amr.Index, _ bool) bool { return x.Level() == 0 }})
		if err != nil {
			t.Fatal(err)
		}
		var ci []amr.Index
		for _, x := range index {
			if x.Level() == 0 {
				ci = append(ci, x)
			}
		}
		if c, err = Diff(t.Context(), m, meshOf(t, coarse, ci, make([]bool, len(ci))), []string{m.Fields[0].Name}, Tolerance{}, nil); err != nil || c.Equal() || c.Fields[0].Other == 0 || c.Fields[0].Differ != 0 {
			t.Fatalf("rank %d: %+v, %v", rank, c, err)
		}
		// one value
		list := src.(*blocks.Memory).List
		amrPut(list[len(list)-1].Fields[0].Data, 0, 77)
		if c, err = Diff(t.Context(), m, p, nil, Tolerance{}, nil); err != nil || c.Fields[0].Differ != 1 || c.Fields[0].A != 77 {
			t.Fatalf("rank %d: %+v, %v", rank, c, err)
		}
	}
}

// TestFill: at a coarser level than that of the cells the mean counts, at a finer one the cell itself; both have the total of the mesh.
func TestFill(t *testing.T) {
	src, index, leaf := generated(t, 2)
	m := meshOf(t, src, index, leaf)
	s, err := m.Stats(t.Context(), []int{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for l := range m.Levels {
		f, err := m.Fill(t.Context(), 0, l, m.Region(l, m.Lower, m.Upper))
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, v := range f.Values {
			sum += v * m.Levels[l].Width[0] * m.Levels[l].Width[1]
			if f.From[i] < 0 {
				t.Fatalf("level %d: no value of cell %d", l, i)
			}
		}
		if math.Abs(sum-s[0].Total) > 1e-12*sum {
			t.Errorf("level %d: total %v, want %v", l, sum, s[0].Total)
		}
	}
}

func amrPut(b []byte, k int, x float32) {
	copy(b[4*k:], bytesOf(amr.Float32, []float64{float64(x)}))
}
