package blocks

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"blobio/amr"
	"blobio/comm"
	"context"
)

// toy is a tree with everything in it, in Morton order: fields of all types, with and without
// ghosts, face-centred ones, particles, adapt_buffers in some blocks, further attributes.
func toy(seed uint64, rank int) (*amr.Meta, []*amr.Block) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &amr.Meta{Cycle: 7, Time: 0.25, Dt: 0.5, Redshift: 3,
		Attrs: map[string]any{"version": []int32{1, 2}, "name": "toy", "list": []string{"a", "", "ccc"}, "one": 2.5, "single": []float32{9}}}
	m.Geometry = amr.Geometry{Rank: rank, Roots: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Upper: [3]float64{1, 2, 3}, MinLevel: -1, MaxLevel: 4}
	for a := range rank {
		m.Roots[a], m.Block[a], m.Ghost[a], m.Periodic[a] = 2, 4+2*a, 1+a%2, a == 0
	}
	for i, t := range []amr.Type{amr.Float32, amr.Float64, amr.Int8, amr.Int16, amr.Int32, amr.Int64} {
		f := amr.FieldSpec{Name: "f" + t.String(), Type: t}
		if i == 1 {
			f.Name, f.Centered[rank-1] = "velocity_face", true
		}
		m.Fields = append(m.Fields, f)
	}
	m.Particles = []amr.ParticleSpec{{Name: "dark", Attrs: []amr.AttrSpec{{Name: "x", Type: amr.Float64}, {Name: "id", Type: amr.Int64}, {Name: "is_copy", Type: amr.Int8}}},
		{Name: "none", Attrs: []amr.AttrSpec{{Name: "x", Type: amr.Float32}}}, {Name: "bare"}}
	t, err := amr.NewRootTree(&m.Geometry)
	if err != nil {
		panic(err)
	}
	for range 6 {
		leaves := slices.DeleteFunc(slices.Clone(t.Sorted()), func(x amr.Index) bool { return !t.Leaf(x) || x.Level() >= m.MaxLevel })
		if err := t.Refine(leaves[r.IntN(len(leaves))]); err != nil {
			panic(err)
		}
	}
	var out []*amr.Block
	for i, x := range t.Sorted() {
		b := &amr.Block{Index: x, Leaf: t.Leaf(x), Cycle: int32(i), Time: r.Float64(), Dt: r.Float64(), Cost: r.Float64(), Attrs: map[string]any{
			"fixed": []float64{math.NaN(), float64(i), 3}, "scalar": int32(i), "word": []uint16{uint16(i)}, "text": string(rune('a' + i%26)), "ragged": make([]int64, i%3)}}
		if i%4 == 0 {
			b.Attrs["some"] = []string{"x", "yz"}
		}
		if i%3 != 1 {
			b.Adapt = make([]byte, 400)
			for k := range 40 + i {
				b.Adapt[k] = byte(r.IntN(256))
			}
		}
		for k := range m.Fields {
			f := amr.Field{Spec: &m.Fields[k], Ghosts: k%3 == 0}
			f.Data = random(r, int(m.FieldBytes(f.Spec, f.Ghosts)))
			b.Fields = append(b.Fields, f)
		}
		for k := range m.Particles {
			p := amr.Particles{Spec: &m.Particles[k], N: i % 5, Data: make([][]byte, len(m.Particles[k].Attrs))}
			if k == 1 {
				p.N = 0
			}
			for j, a := range p.Spec.Attrs {
				p.Data[j] = random(r, p.N*a.Type.Size())
			}
			b.Particles = append(b.Particles, p)
		}
		out = append(out, b)
	}
	return m, out
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

// deal gives each rank some of the blocks: runs of them, or as chance has it.
func deal(blocks []*amr.Block, ranks int, seed uint64) [][]*amr.Block {
	out := make([][]*amr.Block, ranks)
	r := rand.New(rand.NewPCG(seed, 2))
	for i, b := range blocks {
		k := i * ranks / len(blocks)
		if seed > 0 {
			k = r.IntN(ranks)
		}
		out[k] = append(out[k], b)
	}
	return out
}

func writeToy(t testing.TB, name string, m *amr.Meta, parts [][]*amr.Block, o *Options) {
	t.Helper()
	err := comm.Run(t.Context(), len(parts), &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		return Write(ctx, c, name, m, parts[c.Rank()], o)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openToy(t testing.TB, name string) *Dataset {
	t.Helper()
	d, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// sameBlock compares two blocks bit by bit.
func sameBlock(t testing.TB, i int, got, want *amr.Block) {
	t.Helper()
	if got.Index != want.Index || got.Leaf != want.Leaf || got.Cycle != want.Cycle || got.Time != want.Time || got.Dt != want.Dt || got.Cost != want.Cost {
		t.Fatalf("block %d is %+v, want %+v", i, got, want)
	}
	if (got.Adapt == nil) != (want.Adapt == nil) || !slices.Equal(got.Adapt, want.Adapt) {
		t.Fatalf("block %d: adapt_buffer differs", i)
	}
	if len(got.Fields) != len(want.Fields) || len(got.Particles) != len(want.Particles) || len(got.Attrs) != len(want.Attrs) {
		t.Fatalf("block %d: %d fields, %d types of particles, %d attributes, want %d, %d, %d", i,
			len(got.Fields), len(got.Particles), len(got.Attrs), len(want.Fields), len(want.Particles), len(want.Attrs))
	}
	for k := range want.Fields {
		g, w := &got.Fields[k], &want.Fields[k]
		if *g.Spec != *w.Spec || g.Ghosts != w.Ghosts || !slices.Equal(g.Data, w.Data) {
			t.Fatalf("block %d: field %s differs", i, w.Spec.Name)
		}
	}
	for k := range want.Particles {
		g, w := &got.Particles[k], &want.Particles[k]
		if g.Spec.Name != w.Spec.Name || !slices.Equal(g.Spec.Attrs, w.Spec.Attrs) || g.N != w.N || !slices.EqualFunc(g.Data, w.Data, func(a, b []byte) bool { return slices.Equal(a, b) }) {
			t.Fatalf("block %d: particles %s differ", i, w.Spec.Name)
		}
	}
	for k, w := range want.Attrs {
		if g := got.Attrs[k]; !reflect.DeepEqual(bits(g), bits(w)) {
			t.Fatalf("block %d: attribute %s is %T %v, want %T %v", i, k, g, g, w, w)
		}
	}
}

// bits makes NaN equal to itself.
func bits(v any) any {
	if x, ok := v.([]float64); ok {
		var out []uint64
		for _, f := range x {
			out = append(out, math.Float64bits(f))
		}
		return out
	}
	return v
}

func sameMeta(t testing.TB, got, want *amr.Meta) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("meta is %+v\nwant %+v", got, want)
	}
}

// same compares a dataset with the blocks in their order.
func same(t testing.TB, d *Dataset, m *amr.Meta, want []*amr.Block) {
	t.Helper()
	sameMeta(t, d.Meta(), m)
	if d.Len() != len(want) {
		t.Fatalf("%d blocks, want %d", d.Len(), len(want))
	}
	got, err := d.Range(t.Context(), 0, d.Len())
	if err != nil {
		t.Fatal(err)
	}
	row := map[amr.Index]int{}
	for i := range want {
		row[want[i].Index] = i
	}
	for i := range want {
		sameBlock(t, i, got[i], want[i])
		x := d.Blocks()[i]
		parent, ok := row[x.Index.Parent()]
		if !ok {
			parent = -1
		}
		if x.Parent != parent {
			t.Fatalf("block %d: parent in row %d, want %d", i, x.Parent, parent)
		}
	}
}

func temp(t testing.TB) string { return filepath.Join(t.TempDir(), "toy.nc") }
