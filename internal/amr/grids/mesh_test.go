package grids

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"
)

// generated returns a mesh with particles that is refined in a shell.
func generated(t *testing.T, rank int) (*memory, []amr.Index, []bool) {
	t.Helper()
	g := gen.Geometry(rank, 2, 4, 2, 2)
	g.MinLevel = 0
	tree, err := gen.Shock(&g, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	s := gen.NewSet(tree, 1, gen.Fields(2, amr.Float32), gen.Tracers(rank))
	s.Particles = 3
	m := &memory{meta: s.Meta, list: s.All()}
	var leaf []bool
	order := amr.Morton{}.Order(tree)
	for _, x := range order {
		leaf = append(leaf, tree.Leaf(x))
	}
	return m, order, leaf
}

// memory holds blocks in memory.
type memory struct {
	meta *amr.Meta
	list []*amr.Block
}

func meshOf(t *testing.T, src *memory, index []amr.Index, leaf []bool) *Mesh {
	t.Helper()
	m, err := OfBlocks(src.meta, index, leaf, func(_ context.Context, i int) (*amr.Block, error) { return src.list[i], nil })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStats: the figures equal the results of a plain loop over the cells of leaves.
func TestStats(t *testing.T) {
	src, index, leaf := generated(t, 2)
	m := meshOf(t, src, index, leaf)
	list := src.list
	v := list[0].Field(m.Fields[0].Name)
	nan := v
	for i, b := range list { // put a NaN and an infinity into a leaf
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
	g := &src.meta.Geometry
	var cells int64
	sum, volume, lo := 0.0, 0.0, math.Inf(1)
	for i, b := range list {
		w := g.CellWidth(b.Index.Level())
		if !leaf[i] {
			continue
		}
		for _, x := range Floats(amr.Float32, b.Field(m.Fields[0].Name).Data) {
			if cells++; x-x == 0 {
				sum, volume, lo = sum+x*w[0]*w[1], volume+w[0]*w[1], min(lo, x)
			}
		}
	}
	if x := got[0]; x.Cells != cells || x.NaN != 1 || x.Inf != 1 || math.Abs(x.Total-sum) > 1e-12 || math.Abs(x.Volume-volume) > 1e-12 || x.Min != lo {
		t.Errorf("%+v, want %d cells, total %v, volume %v, least %v", x, cells, sum, volume, lo)
	}
}

// TestCopies: Diff finds no difference in a copy with another order of blocks, and finds a changed value or refinement.
func TestCopies(t *testing.T) {
	for rank := 1; rank <= 3; rank++ {
		src, index, leaf := generated(t, rank)
		m := meshOf(t, src, index, leaf)
		list := src.list
		part := func(keep func(i int) bool) *Mesh { // copy with the blocks in reverse order
			var of []*amr.Block
			var oi []amr.Index
			var ol []bool
			for i, b := range slices.Backward(list) {
				if keep(i) {
					of, oi, ol = append(of, clone(b)), append(oi, index[i]), append(ol, leaf[i])
				}
			}
			return meshOf(t, &memory{src.meta, of}, oi, ol)
		}
		p := part(func(int) bool { return true })
		c, err := Diff(t.Context(), m, p, nil, Tolerance{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Equal() || len(c.Particles) != len(m.Kinds) || len(m.Kinds) == 0 || c.Particles[0].A == 0 || c.Fields[0].Cells == 0 {
			t.Fatalf("rank %d: %+v", rank, c)
		}
		// a mesh of only the coarse level, which has another refinement
		coarse := part(func(i int) bool { return index[i].Level() == 0 })
		if c, err = Diff(t.Context(), m, coarse, []string{m.Fields[0].Name}, Tolerance{}, nil); err != nil || c.Equal() || c.Fields[0].Other == 0 || c.Fields[0].Differ != 0 {
			t.Fatalf("rank %d: %+v, %v", rank, c, err)
		}
		// a mesh without one of the leaves
		leaves := part(func(i int) bool { return leaf[i] && i < len(list)-1 })
		cells := int64(1)
		for range rank {
			cells *= 4
		}
		for _, x := range []struct {
			a, b *Mesh
			want int64
		}{{m, leaves, cells}, {leaves, m, 0}} {
			if c, err = Diff(t.Context(), x.a, x.b, nil, Tolerance{}, nil); err != nil || c.Equal() || c.Fields[0].Differ != 0 || c.Fields[0].Other != 0 || c.Fields[0].Missing != x.want {
				t.Fatalf("rank %d: %+v, %v, want %d cells missing", rank, c, err, x.want)
			}
		}
		// one value differs
		amrPut(list[len(list)-1].Fields[0].Data, 0, 77)
		if c, err = Diff(t.Context(), m, p, nil, Tolerance{}, nil); err != nil || c.Fields[0].Differ != 1 || c.Fields[0].A != 77 {
			t.Fatalf("rank %d: %+v, %v", rank, c, err)
		}
	}
}

// clone copies a block and its fields.
func clone(b *amr.Block) *amr.Block {
	c := *b
	c.Fields = slices.Clone(b.Fields)
	for i := range c.Fields {
		c.Fields[i].Data = slices.Clone(c.Fields[i].Data)
	}
	return &c
}

// TestFill: a coarser level gets means of cells, and a finer level copies of the cells. Both have the same total as the
// mesh.
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
	binary.NativeEndian.PutUint32(b[4*k:], math.Float32bits(x))
}
