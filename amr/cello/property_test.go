package cello

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

// TestPropertyTrees: random trees of any rank and shape are written with random options. They read back equal, have no faults,
// and restart on any number of ranks.
func TestPropertyTrees(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		s := caseSpec{
			rank: rapid.IntRange(1, 3).Draw(rt, "rank"), ghost: rapid.IntRange(0, 2).Draw(rt, "ghost"), maxLevel: rapid.IntRange(0, 2).Draw(rt, "levels"),
			refine: 0.3, seed: rapid.Int64Range(0, 1<<30).Draw(rt, "seed"), typ: rapid.SampledFrom([]amr.Type{amr.Float32, amr.Float64}).Draw(rt, "type"),
			particles: rapid.Bool().Draw(rt, "particles"), centered: rapid.Bool().Draw(rt, "centred"), costs: rapid.Bool().Draw(rt, "costs"), periodic: rapid.Bool().Draw(rt, "periodic"),
		}
		cubic := rapid.IntRange(0, 2).Draw(rt, "roots")
		for i := range 3 {
			// Use at least 2 cells. If the z or y axis has one cell, the file does not store that axis.
			s.block[i] = rapid.IntRange(2, 4).Draw(rt, "cells")
			s.roots[i] = rapid.IntRange(1, 3).Draw(rt, "roots")
			if cubic > 0 {
				s.roots[i] = 1 << cubic
				s.minLevel = -cubic
			}
		}
		s.ghosts = rapid.Bool().Draw(rt, "ghosts in memory")
		c := s.build(t)
		o := &Options{
			Files: rapid.IntRange(1, len(c.blocks)+2).Draw(rt, "files"), Cut: rapid.SampledFrom(cuts).Draw(rt, "cut"),
			Ordering: rapid.SampledFrom([]amr.Ordering{amr.Morton{}, amr.Hilbert{}, amr.RootBlocks{}}).Draw(rt, "order"),
			Ghosts:   s.ghosts && rapid.Bool().Draw(rt, "ghosts"), Memory: minMemory, FS: vfs.NewMem(),
		}
		if err := c.write(ctx, rapid.IntRange(1, 4).Draw(rt, "ranks"), rapid.Bool().Draw(rt, "apart"), "c", o); err != nil {
			rt.Fatal(err)
		}
		if err := c.holds(ctx, "c", &OpenOptions{FS: o.FS}); err != nil {
			rt.Fatal(err)
		}
		if l := wrongHere(errorsOf(findings(o.FS, "c", nil))); len(l) > 0 {
			rt.Fatal(l)
		}
		ro := &RestartOptions{Cut: rapid.SampledFrom(cuts).Draw(rt, "placement")}
		ro.FS = o.FS
		apps, err := restartAll(ctx, rapid.IntRange(1, 5).Draw(rt, "restart ranks"), rapid.Bool().Draw(rt, "apart"), "c", ro, nil)
		if err != nil {
			rt.Fatal(err)
		}
		n := 0
		for _, a := range apps {
			n += len(a.blocks)
		}
		if n != len(c.blocks) {
			rt.Fatalf("%d blocks, want %d", n, len(c.blocks))
		}
	})
}

// TestDump: a dump contains exactly the selected fields, levels and leaves, and cannot be restarted from.
func TestDump(t *testing.T) {
	ctx := context.Background()
	c := small().build(t)
	for name, d := range map[string]struct {
		o    Options
		want func(b *amr.Block) bool
	}{
		"fields": {Options{Fields: []string{"velocity_x"}}, func(*amr.Block) bool { return true }},
		"levels": {Options{Levels: &[2]int{0, 1}}, func(b *amr.Block) bool { return b.Index.Level() == 0 || b.Index.Level() == 1 }},
		"leaves": {Options{LeavesOnly: true}, func(b *amr.Block) bool { return b.Leaf }},
		"none":   {Options{Fields: []string{}}, func(*amr.Block) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memDir(t)
			o := d.o
			o.Files, o.FS = 3, mem
			if err := c.write(ctx, 3, false, "c", &o); err != nil {
				t.Fatal(err)
			}
			if l := wrongHere(errorsOf(findings(mem, "c", nil))); len(l) > 0 {
				t.Fatal(l)
			}
			k, err := Open(ctx, "c", &OpenOptions{FS: mem})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			n := 0
			for _, b := range c.blocks {
				i := slices.IndexFunc(k.Blocks(), func(x BlockInfo) bool { return x.Index == b.Index })
				ok := i >= 0
				if ok != d.want(b) {
					t.Fatalf("block %v: %v", b.Index, ok)
				}
				if !ok {
					continue
				}
				n++
				got, err := k.Block(ctx, i)
				if err != nil {
					t.Fatal(err)
				}
				want := *b
				want.Fields = nil
				for _, f := range b.Fields {
					if o.Fields == nil || len(o.Fields) == 1 && o.Fields[0] == f.Spec.Name {
						want.Fields = append(want.Fields, f)
					}
				}
				want.Leaf = got.Leaf
				if err := same(c.meta, got, &want); err != nil {
					t.Fatal(err)
				}
			}
			if n != len(k.Blocks()) || !k.Dump() {
				t.Fatalf("%d blocks, %d found, dump %v", len(k.Blocks()), n, k.Dump())
			}
			if _, err := restartAll(ctx, 2, false, "c", &RestartOptions{OpenOptions: OpenOptions{FS: mem}}, nil); !errors.Is(err, ErrDump) {
				t.Errorf("restarted from a dump: %v", err)
			}
		})
	}
}

// TestWriteUsage: wrong arguments are errors on all ranks, and no files are written.
func TestWriteUsage(t *testing.T) {
	ctx := context.Background()
	for name, f := range map[string]func(c *testCase, o *Options){
		"files":       func(_ *testCase, o *Options) { o.Files = -1 },
		"memory":      func(_ *testCase, o *Options) { o.Memory = 1 },
		"ghosts":      func(_ *testCase, o *Options) { o.Ghosts = true },
		"enzo":        func(_ *testCase, o *Options) { o.EnzoFloat = amr.Int8 },
		"field":       func(_ *testCase, o *Options) { o.Fields = []string{"moon"} },
		"levels":      func(_ *testCase, o *Options) { o.Levels = &[2]int{3, 1} },
		"no block":    func(_ *testCase, o *Options) { o.Levels = &[2]int{9, 9} },
		"child":       func(c *testCase, _ *Options) { c.blocks = c.blocks[:len(c.blocks)-1] },
		"duplicate":   func(c *testCase, _ *Options) { c.blocks = append(c.blocks, c.blocks[0]) },
		"short field": func(c *testCase, _ *Options) { c.blocks[3].Fields[1].Data = c.blocks[3].Fields[1].Data[:7] },
		"no field":    func(c *testCase, _ *Options) { c.blocks[3].Fields = c.blocks[3].Fields[:1] },
		"particles":   func(c *testCase, _ *Options) { c.blocks[3].Particles[0].N++ },
		"adapt":       func(c *testCase, _ *Options) { c.blocks[3].Adapt = []byte{1} },
		"attribute":   func(c *testCase, _ *Options) { c.blocks[3].Attrs = map[string]any{"x": 3} },
		"outside":     func(c *testCase, _ *Options) { c.blocks[3].Index = amr.At(0, [3]int{9, 9, 9}) },
		"cost":        func(c *testCase, _ *Options) { c.blocks[3].Cost = -1 },
		"nil":         func(c *testCase, _ *Options) { c.blocks[3] = nil },
		"roots":       func(c *testCase, _ *Options) { c.meta.Roots[0] = 0 },
		"two fields":  func(c *testCase, _ *Options) { c.meta.Fields[1].Name = c.meta.Fields[0].Name },
	} {
		for _, apart := range []bool{false, true} {
			mem := memDir(t)
			c := small().build(t)
			o := &Options{Files: 2, FS: mem}
			f(c, o)
			if err := c.write(ctx, 3, apart, "c", o); err == nil {
				t.Errorf("%s: no error", name)
			}
			if l := names(mem, "."); len(l) != 0 {
				t.Errorf("%s: left over: %v", name, l)
			}
		}
	}
	// If the number of root blocks is not a power of two, names collide.
	s := small()
	s.rank, s.roots, s.minLevel = 1, [3]int{3}, -1
	c := s.build(t)
	if err := c.write(ctx, 1, false, "c", &Options{FS: memDir(t)}); !errors.Is(err, ErrUsage) {
		t.Errorf("colliding names: %v", err)
	}
}

// TestKeptAttrs: attributes outside the format, and odd values of standard attributes, survive a copy.
func TestKeptAttrs(t *testing.T) {
	ctx := context.Background()
	for _, apart := range []bool{false, true} {
		c := tiny().build(t)
		c.meta.Attrs = map[string]any{"version": []string{"me"}, "units": []float64{1, 2}}
		c.blocks[2].Attrs = map[string]any{"mine": []int64{1, 2, 3}, "note": []string{"a", "bcd"}, "lower": []float64{7, 8, 9}}
		c.blocks[3].Attrs = map[string]any{"enzo_redshift": []float32{2}, "num_field_data": []int32{4}}
		mem := memDir(t)
		if err := c.write(ctx, 2, apart, "c", &Options{Files: 2, FS: mem}); err != nil {
			t.Fatal(err)
		}
		k, err := Open(ctx, "c", &OpenOptions{FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if got, want := fmt.Sprint(k.Meta().Attrs), fmt.Sprint(c.meta.Attrs); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		for i, info := range k.Blocks() {
			b, err := k.Block(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.blocks {
				if w.Index == info.Index && fmt.Sprint(b.Attrs) != fmt.Sprint(w.Attrs) {
					t.Errorf("block %s: %v, want %v", info.Name, b.Attrs, w.Attrs)
				}
			}
		}
	}
}
