package cello

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/h5"
	"blobio/internal/base/testfiles"
)

var realCheckpoints = []string{"CheckA-10", "CheckE-05", "CheckP2-05"}

// TestRealSynthesis: the adapt_buffer that this package computes equals the one in Enzo-E's files, for leaves and for blocks
// below level 0.
func TestRealSynthesis(t *testing.T) {
	ctx := context.Background()
	leaves := 0
	for _, name := range realCheckpoints {
		k, err := Open(ctx, testfiles.Dir(t, "cello", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		for i, info := range k.Blocks() {
			b, err := k.Head(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			want, err := decodeAdapt(b.Adapt)
			if err != nil {
				t.Fatal(err)
			}
			if !info.Leaf && info.Level >= 0 {
				if want.Valid {
					t.Errorf("%s: valid, though it is refined", info.Name)
				}
				continue
			}
			leaves++
			got := synthesize(k.Tree(), b.Index)
			if d := diffAdapt(got, want); d != "" {
				t.Errorf("%s %s: %s", name, info.Name, d)
			}
		}
	}
	if leaves != 102 {
		t.Errorf("%d blocks compared", leaves)
	}
}

// diffAdapt compares only content that Enzo-E defines. It ignores the order of neighbours, the flags of the block itself, and
// can_coarsen.
func diffAdapt(got, want *adaptBuffer) string {
	g, w := *got, *want
	for _, a := range []*adaptBuffer{&g, &w} {
		a.Self.Sibling, a.Self.CanCoarsen = false, false
		a.Neighbours = slices.Clone(a.Neighbours)
		for i := range a.Neighbours {
			a.Neighbours[i].CanCoarsen = false
		}
		slices.SortFunc(a.Neighbours, func(a, b levelInfo) int { return slices.Compare(a.Index[:], b.Index[:]) })
	}
	if s, z := fmt.Sprintf("%+v", g), fmt.Sprintf("%+v", w); s != z {
		return fmt.Sprintf("got  %s\nwant %s", s, z)
	}
	return ""
}

// TestRealRewrite: rewritten checkpoints of Enzo-E have the same groups, attributes and datasets, bit for bit, with any number of
// files.
func TestRealRewrite(t *testing.T) {
	ctx := context.Background()
	for _, name := range realCheckpoints {
		dir := testfiles.Dir(t, "cello", name)
		for _, files := range []int{3, 1, 200} {
			for _, ranks := range []int{1, 3} {
				if !long && (files == 1) != (ranks == 1) {
					continue
				}
				out := filepath.Join(t.TempDir(), "copy")
				rewriteReal(t, ctx, dir, out, ranks, files)
				a, b := contents(t, dir), contents(t, out)
				if len(a) < 5 || len(a) != len(b) {
					t.Fatalf("%s: %d objects, want %d", name, len(b), len(a))
				}
				for path, want := range a {
					if got := b[path]; got != want {
						t.Errorf("%s: %s: got  %.300s\nwant %.300s", name, path, got, want)
					}
				}
				if files == 3 {
					for _, f := range []string{cellodir.FileList, "block_data-0.block_list", "block_data-1.block_list", "block_data-2.block_list"} {
						x, err := os.ReadFile(filepath.Join(dir, f))
						if err != nil {
							t.Fatal(err)
						}
						y, err := os.ReadFile(filepath.Join(out, f))
						if err != nil || !bytes.Equal(x, y) {
							t.Errorf("%s: %s differs (%v)", name, f, err)
						}
					}
				}
			}
		}
	}
}

func rewriteReal(t testing.TB, ctx context.Context, dir, out string, ranks, files int) {
	t.Helper()
	k, err := Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		return WriteFrom(ctx, c, out, k.Meta(), k.Share(c.Rank(), c.Size()), &Options{Files: files, EnzoFloat: k.EnzoFloat(), NoSync: true})
	}); err != nil {
		t.Fatal(err)
	}
}

// contents reads all objects of all files of a directory through h5, as text.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.h5"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := h5.NewFile(bytes.NewReader(raw), int64(len(raw)), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, f) {
			for a, err := range o.Attrs() {
				if err != nil {
					t.Fatal(err)
				}
				v, err := a.Raw()
				if err != nil {
					t.Fatal(err)
				}
				all[o.Path()+" "+a.Name] = fmt.Sprintf("%v %v %x", a.Type, a.Dims, v)
			}
			if o.Kind() == h5.KindDataset {
				d, err := o.Dataset()
				if err != nil {
					t.Fatal(err)
				}
				v := make([]byte, d.Bytes())
				if _, err := d.ReadAt(v, 0); err != nil && err != io.EOF {
					t.Fatal(err)
				}
				all[o.Path()] = fmt.Sprintf("%v %v %x", d.Type(), d.Dims(), v)
			}
		}
	}
	return all
}

func objects(t testing.TB, f *h5.File) []*h5.Object {
	t.Helper()
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	out := []*h5.Object{root.Object}
	for i := 0; i < len(out); i++ {
		if out[i].Kind() != h5.KindGroup {
			continue
		}
		g, err := out[i].Group()
		if err != nil {
			t.Fatal(err)
		}
		for l, err := range g.Members() {
			if err != nil {
				t.Fatal(err)
			}
			o, err := g.Open(l)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, o)
		}
	}
	return out
}

// TestRealMeta: Open finds the parameters of the Enzo-E runs.
func TestRealMeta(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name           string
		rank, blocks   int
		roots          [3]int
		minLevel, maxL int
		periodic       [3]bool
		fields, types  int
		particles      int
	}{
		{"CheckA-10", 2, 101, [3]int{4, 4, 1}, -2, 2, [3]bool{}, 8, 0, 0},
		{"CheckE-05", 2, 5, [3]int{2, 2, 1}, -1, 0, [3]bool{true, true, true}, 3, 1, 64},
		{"CheckP2-05", 3, 17, [3]int{2, 2, 2}, -1, 1, [3]bool{true, true, true}, 10, 1, 0},
	} {
		k, err := Open(ctx, testfiles.Dir(t, "cello", c.name), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		m := k.Meta()
		if m.Rank != c.rank || len(k.Blocks()) != c.blocks || m.Roots != c.roots || m.MinLevel != c.minLevel || m.MaxLevel != c.maxL || m.Periodic != c.periodic {
			t.Errorf("%s: %+v, %d blocks", c.name, m, len(k.Blocks()))
		}
		if c.fields > 0 && len(m.Fields) != c.fields || len(m.Particles) != c.types {
			t.Errorf("%s: fields %v, particles %v", c.name, m.Fields, m.Particles)
		}
		n := 0
		for i, b := range k.Blocks() {
			if b.Order != int64(i) {
				t.Errorf("%s: block %d has order %d", c.name, i, b.Order)
			}
			h, err := k.Head(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			if _, other := h.Attrs["lower"]; other && b.Level >= 0 && m.Rank == 3 {
				t.Errorf("%s: the bounds of block %s differ from its index's: %v", c.name, b.Name, h.Attrs)
			}
			if !b.Leaf {
				continue
			}
			for _, p := range h.Particles {
				n += p.N
			}
		}
		if n != c.particles {
			t.Errorf("%s: %d particles in leaves, want %d", c.name, n, c.particles)
		}
	}
}
