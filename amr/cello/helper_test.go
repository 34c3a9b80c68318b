package cello

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// long runs all combinations of the test parameters. BLOBIO_LONG=1 sets it.
var long = os.Getenv("BLOBIO_LONG") != ""

func TestMain(m *testing.M) { crashtest.Main(m) }

type caseSpec struct {
	rank      int
	roots     [3]int
	block     [3]int
	ghost     int
	minLevel  int
	maxLevel  int
	refine    float64 // probability that a block is refined
	seed      int64
	typ       amr.Type
	ghosts    bool // blocks have ghosts in memory
	particles bool
	centered  bool
	costs     bool
	periodic  bool
}

// testCase is a tree with data.
type testCase struct {
	meta   *amr.Meta
	blocks []*amr.Block // in Morton order
}

// build makes a balanced random tree. Every value identifies its position.
func (s caseSpec) build(t testing.TB) *testCase {
	t.Helper()
	m := &amr.Meta{Cycle: 17, Time: 1.25, Dt: 0.001, Redshift: 3.5}
	m.Rank, m.MinLevel, m.MaxLevel = s.rank, s.minLevel, s.maxLevel
	for i := range 3 {
		m.Roots[i], m.Block[i] = 1, 1
		m.Lower[i], m.Upper[i] = 0, 1
		if i < s.rank {
			m.Roots[i], m.Block[i], m.Ghost[i] = s.roots[i], s.block[i], s.ghost
			m.Lower[i], m.Upper[i] = -1, 3.5
			m.Periodic[i] = s.periodic
		}
	}
	m.Fields = []amr.FieldSpec{{Name: "density", Type: s.typ}, {Name: "velocity_x", Type: s.typ}, {Name: "flag", Type: amr.Int16}}
	if s.centered {
		m.Fields = append(m.Fields, amr.FieldSpec{Name: "bx", Type: s.typ, Centered: [3]bool{true}})
	}
	if s.particles {
		m.Particles = []amr.ParticleSpec{
			{Name: "trace", Attrs: []amr.AttrSpec{{Name: "x", Type: amr.Float32}, {Name: "id", Type: amr.Int64}, {Name: "is_local", Type: amr.Int8}}},
			{Name: "dark", Attrs: []amr.AttrSpec{{Name: "x", Type: amr.Float64}, {Name: "mass", Type: amr.Float64}}},
		}
	}
	rnd := rand.New(rand.NewSource(s.seed))
	tree, err := amr.NewRootTree(&m.Geometry)
	if err != nil {
		t.Fatal(err)
	}
	for l := range s.maxLevel {
		for _, x := range append([]amr.Index(nil), tree.Sorted()...) {
			if x.Level() == l && tree.Leaf(x) && rnd.Float64() < s.refine {
				refineBalanced(t, tree, x)
			}
		}
	}
	c := &testCase{meta: m}
	for _, x := range tree.Sorted() {
		b := &amr.Block{Index: x, Leaf: tree.Leaf(x), Cycle: m.Cycle, Time: m.Time, Dt: m.Dt}
		if s.costs {
			b.Cost = 1 + rnd.Float64()
		}
		for i := range m.Fields {
			f := &m.Fields[i]
			d := make([]byte, m.FieldBytes(f, s.ghosts))
			rnd.Read(d)
			b.Fields = append(b.Fields, amr.Field{Spec: f, Ghosts: s.ghosts, Data: d})
		}
		for i := range m.Particles {
			p := &m.Particles[i]
			part := amr.Particles{Spec: p, N: rnd.Intn(4)}
			for _, a := range p.Attrs {
				d := make([]byte, part.N*a.Type.Size())
				rnd.Read(d)
				part.Data = append(part.Data, d)
			}
			b.Particles = append(b.Particles, part)
		}
		c.blocks = append(c.blocks, b)
	}
	return c
}

// refineBalanced refines a block, but first the coarser blocks around it.
func refineBalanced(t testing.TB, tree *amr.Tree, x amr.Index) {
	t.Helper()
	if !tree.Leaf(x) {
		return
	}
	g := tree.Geometry()
	for face := range 27 {
		f := [3]int{face%3 - 1, face/3%3 - 1, face/9 - 1}
		if n, _, ok := g.Beside(x, f); ok && x.Level() > 0 && !tree.Has(n) {
			refineBalanced(t, tree, n.Parent())
		}
	}
	if err := tree.Refine(x); err != nil {
		t.Fatal(err)
	}
}

// split divides the blocks among ranks, unevenly and out of order.
func (c *testCase) split(ranks int, seed int64) [][]*amr.Block {
	rnd := rand.New(rand.NewSource(seed))
	out := make([][]*amr.Block, ranks)
	for _, i := range rnd.Perm(len(c.blocks)) {
		r := rnd.Intn(ranks)
		if rnd.Intn(3) == 0 {
			r = 0
		}
		out[r] = append(out[r], c.blocks[i])
	}
	return out
}

func (c *testCase) write(ctx context.Context, ranks int, isolate bool, dir string, o *Options) error {
	local := c.split(ranks, 5)
	return comm.Run(ctx, ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, co comm.Comm) error {
		if isolate {
			co = commtest.Isolate(co)
		}
		return Write(ctx, co, dir, c.meta, local[co.Rank()], o)
	})
}

// same compares a block that was read with the block that was written. If stripped is true, only the written block
// has ghosts.
func same(m *amr.Meta, got, want *amr.Block) error {
	if got.Index != want.Index || got.Leaf != want.Leaf || got.Cycle != want.Cycle || got.Time != want.Time || got.Dt != want.Dt || got.Cost != want.Cost {
		return fmt.Errorf("block %v: %v %v %v %v %v %v, want %v %v %v %v %v %v", want.Index, got.Index, got.Leaf, got.Cycle, got.Time, got.Dt, got.Cost,
			want.Index, want.Leaf, want.Cycle, want.Time, want.Dt, want.Cost)
	}
	for i := range want.Fields {
		w := &want.Fields[i]
		g := got.Field(w.Spec.Name)
		if g == nil {
			return fmt.Errorf("block %v has no field %s", want.Index, w.Spec.Name)
		}
		data := w.Data
		if w.Ghosts && !g.Ghosts {
			data = make([]byte, m.FieldBytes(w.Spec, false))
			m.Strip(data, w.Data, w.Spec)
		}
		if !bytes.Equal(g.Data, data) || !reflect.DeepEqual(g.Spec, w.Spec) {
			return fmt.Errorf("block %v: field %s %v differs (%v)", want.Index, w.Spec.Name, w.Spec, g.Spec)
		}
	}
	if len(got.Fields) != len(want.Fields) || len(got.Particles) != len(want.Particles) {
		return fmt.Errorf("block %v: %d fields, %d types of particles, want %d, %d", want.Index, len(got.Fields), len(got.Particles), len(want.Fields), len(want.Particles))
	}
	for i := range want.Particles {
		g, w := &got.Particles[i], &want.Particles[i]
		if g.N != w.N || !reflect.DeepEqual(g.Spec, w.Spec) {
			return fmt.Errorf("block %v: %d particles %v, want %d %v", want.Index, g.N, g.Spec, w.N, w.Spec)
		}
		for k := range w.Data {
			if !bytes.Equal(g.Data[k], w.Data[k]) {
				return fmt.Errorf("block %v: particles %s: attribute %d differs", want.Index, w.Spec.Name, k)
			}
		}
	}
	return nil
}

func (c *testCase) holds(ctx context.Context, dir string, o *OpenOptions) error {
	k, err := Open(ctx, dir, o)
	if err != nil {
		return err
	}
	defer k.Close()
	m := *k.Meta()
	if m.Files != len(k.Files()) {
		return fmt.Errorf("meta says %d files, there are %d", m.Files, len(k.Files()))
	}
	m.Files = c.meta.Files
	if !reflect.DeepEqual(&m, c.meta) {
		return fmt.Errorf("meta is %+v, want %+v", m, *c.meta)
	}
	if len(k.Blocks()) != len(c.blocks) {
		return fmt.Errorf("%d blocks, want %d", len(k.Blocks()), len(c.blocks))
	}
	want := map[amr.Index]*amr.Block{}
	for _, b := range c.blocks {
		want[b.Index] = b
	}
	for i := range k.Blocks() {
		b, err := k.Block(ctx, i)
		if err != nil {
			return err
		}
		if err := same(c.meta, b, want[b.Index]); err != nil {
			return err
		}
		if b.Attrs != nil {
			return fmt.Errorf("block %v: attributes %v that were not written", b.Index, b.Attrs)
		}
		for f := range c.meta.Fields {
			d, err := k.Field(ctx, i, c.meta.Fields[f].Name, nil)
			if err != nil {
				return err
			}
			if !bytes.Equal(d, b.Fields[f].Data) {
				return fmt.Errorf("block %v: Field and Block differ", b.Index)
			}
		}
	}
	return nil
}

// wrongHere removes findings that concern only Enzo-E.
func wrongHere(l []Finding) []Finding {
	return slices.DeleteFunc(l, func(f Finding) bool { return f.Err == ErrUnfit })
}

func small() caseSpec {
	return caseSpec{rank: 3, roots: [3]int{2, 2, 2}, block: [3]int{4, 4, 4}, ghost: 1, minLevel: -1, maxLevel: 2, refine: 0.3, seed: 1,
		typ: amr.Float32, particles: true, costs: true}
}

func memDir(t testing.TB) *vfs.Mem {
	t.Helper()
	return vfs.NewMem()
}

func findings(fsys vfs.FS, dir string, o *VerifyOptions) (l []Finding) {
	if o == nil {
		o = &VerifyOptions{}
	}
	o.FS = fsys
	for f := range Verify(context.Background(), dir, o) {
		l = append(l, f)
	}
	return l
}

func errorsOf(l []Finding) (out []Finding) {
	for _, f := range l {
		if f.Severity >= Error {
			out = append(out, f)
		}
	}
	return out
}

// flat returns a case like the Enzo-E runs, with floating-point fields only: 2-D, 4x4 root blocks, levels -2 to 2, 3
// files.
func flat(t testing.TB) (*testCase, *vfs.Mem) {
	t.Helper()
	s := caseSpec{rank: 2, roots: [3]int{4, 4}, block: [3]int{4, 4}, ghost: 2, minLevel: -2, maxLevel: 2, refine: 0.4, seed: 6, typ: amr.Float64, particles: true}
	c := s.build(t)
	c.meta.Fields = c.meta.Fields[:2]
	for _, b := range c.blocks {
		b.Fields = b.Fields[:2]
	}
	mem := memDir(t)
	if err := c.write(context.Background(), 3, false, "good", &Options{Files: 3, FS: mem}); err != nil {
		t.Fatal(err)
	}
	return c, mem
}
