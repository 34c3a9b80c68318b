package blocks

import (
	"path/filepath"
	"slices"
	"testing"

	"blobio/amr"
	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/amr/gen"
	"blobio/internal/testfiles"
)

func openCello(t testing.TB, dir string) *cello.Checkpoint {
	t.Helper()
	k, err := cello.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// sameSources compares all blocks of two sources bit by bit.
func sameSources(t *testing.T, got, want Source) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Fatalf("%d blocks, want %d", got.Len(), want.Len())
	}
	a, b := *got.Meta(), *want.Meta()
	a.Attrs, b.Attrs = nil, nil
	a.Files, b.Files = 0, 0 // what is written may be in others
	sameMeta(t, &a, &b)
	for i := range want.Len() {
		g, err := got.Range(t.Context(), i, i+1)
		if err != nil {
			t.Fatal(err)
		}
		w, err := want.Range(t.Context(), i, i+1)
		if err != nil {
			t.Fatal(err)
		}
		sameBlock(t, i, g[0], w[0])
	}
}

// TestRealCheckpoints: from the files of Enzo-E to the native form and back, nothing changes.
func TestRealCheckpoints(t *testing.T) {
	for _, name := range []string{"CheckA-10", "CheckE-05", "CheckP2-05"} {
		t.Run(name, func(t *testing.T) {
			k := openCello(t, testfiles.Dir(t, "cello", name))
			src := FromCello(k)
			for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
				file := filepath.Join(t.TempDir(), "mesh")
				o := &Options{Form: form, Durability: blob.DurableNone}
				if form != Canonical {
					o.Ranks, o.Subfiles = 3, 2
				}
				if err := Convert(t.Context(), src, file, o); err != nil {
					t.Fatal(err)
				}
				d := openToy(t, file)
				sameSources(t, d, src)
				back := filepath.Join(t.TempDir(), "back")
				if err := ToCello(t.Context(), d, back, &CelloOptions{Cello: cello.Options{Files: 5, EnzoFloat: k.EnzoFloat(), Ghosts: k.Ghosts(0), Durability: cello.DurableNone}}); err != nil {
					t.Fatal(err)
				}
				sameSources(t, FromCello(openCello(t, back)), src)
			}
		})
	}
}

// TestGenerated: everything that the generators make, through both forms.
func TestGenerated(t *testing.T) {
	cases, err := gen.Cases(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var list []*amr.Block
			for _, b := range c.Set.All(nil) {
				list = append(list, b)
			}
			src := &Memory{c.Set.Meta, list}
			file, dir := filepath.Join(t.TempDir(), "mesh.nc"), filepath.Join(t.TempDir(), "back")
			if err := Convert(t.Context(), src, file, &Options{Durability: blob.DurableNone}); err != nil {
				t.Fatal(err)
			}
			d := openToy(t, file)
			for i := range d.Len() {
				b, err := d.Block(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Set.Check(b, false); err != nil {
					t.Fatal(err)
				}
			}
			ghosts := len(list[0].Fields) > 0 && list[0].Fields[0].Ghosts
			if err := ToCello(t.Context(), d, dir, &CelloOptions{Workers: 3, Cello: cello.Options{Files: 4, Ghosts: ghosts, Durability: cello.DurableNone}}); err != nil {
				t.Fatal(err)
			}
			k := openCello(t, dir)
			if !slices.EqualFunc(k.Blocks(), d.Blocks(), func(a cello.BlockInfo, b Info) bool {
				return a.Index == b.Index && a.Leaf == b.Leaf && a.Cost == b.Cost
			}) {
				t.Fatal("other blocks, order, leaves or costs")
			}
			for i := range k.Blocks() {
				b, err := k.Block(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Set.Check(b, false); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
