package blocks

import (
	"fmt"
	"path/filepath"
	"testing"

	"blobio/amr"
	"blobio/blob"
)

// TestConvert: from any source to any form, whatever the number of workers, nothing changes.
func TestConvert(t *testing.T) {
	m, blocks := toy(11, 3)
	src := Source(&Memory{m, blocks})
	top := t // files stay until the end: each is made from the one before
	for _, workers := range []int{1, 3, 16} {
		for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
			t.Run(fmt.Sprintf("%d/%v", workers, form), func(t *testing.T) {
				o := &Options{Form: form, Workers: workers, Durability: blob.DurableNone}
				if form != Canonical {
					o.Ranks, o.Subfiles = 5, 2
				}
				name := temp(top)
				var most int64
				if workers == 1 {
					o.Progress = func(done, total int64) { most = done }
				}
				if err := Convert(t.Context(), src, name, o); err != nil {
					t.Fatal(err)
				}
				d := openToy(top, name)
				same(t, d, m, blocks)
				if workers == 1 && most != int64(len(blocks)) {
					t.Errorf("progress of %d blocks, want %d", most, len(blocks))
				}
				if form != Canonical {
					if _, ranks := d.Reader().Subfiles(); ranks != 5 {
						t.Errorf("%d ranks", ranks)
					}
				}
				if left, _ := filepath.Glob(name + "*canonical*"); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				src = d // the next one is made from it
			})
		}
	}
	name := temp(t)
	if err := Convert(t.Context(), src, name, &Options{Ordering: amr.Hilbert{}, Workers: 2, Durability: blob.DurableNone}); err != nil {
		t.Fatal(err)
	}
	d := openToy(t, name)
	tree, err := d.Tree()
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range (amr.Hilbert{}).Order(tree) {
		if d.Blocks()[i].Index != x {
			t.Fatalf("block %d is %v, want %v", i, d.Blocks()[i].Index, x)
		}
	}
}

// TestSelect: leaves, one field, no ghosts.
func TestSelect(t *testing.T) {
	m, blocks := toy(11, 2)
	src, err := Select(t.Context(), &Memory{m, blocks}, Selection{Keep: func(x amr.Index, leaf bool) bool { return leaf }, Fields: []string{"ffloat32", "fint32"}, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	name := temp(t)
	if err := Convert(t.Context(), src, name, nil); err != nil {
		t.Fatal(err)
	}
	d := openToy(t, name)
	var leaves []*amr.Block
	for _, b := range blocks {
		if b.Leaf {
			leaves = append(leaves, b)
		}
	}
	if d.Len() != len(leaves) || len(d.Meta().Fields) != 2 {
		t.Fatalf("%d blocks, %d fields", d.Len(), len(d.Meta().Fields))
	}
	for i, w := range leaves {
		got, err := d.Block(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if got.Index != w.Index || got.Fields[0].Ghosts {
			t.Fatalf("block %d: %v, ghosts %v", i, got.Index, got.Fields[0].Ghosts)
		}
		f := w.Field("ffloat32")
		nx := m.Block[0] + 2*m.Ghost[0]
		for y := range m.Block[1] {
			for x := range m.Block[0] {
				a, b := (y*m.Block[0]+x)*4, ((y+m.Ghost[1])*nx+x+m.Ghost[0])*4
				if string(got.Fields[0].Data[a:a+4]) != string(f.Data[b:b+4]) {
					t.Fatalf("block %d: cell %d %d differs", i, x, y)
				}
			}
		}
	}
	for name, s := range map[string]Selection{"field": {Fields: []string{"none"}}, "blocks": {Keep: func(amr.Index, bool) bool { return false }}} {
		if _, err := Select(t.Context(), src, s); err == nil {
			t.Errorf("no %s: no error", name)
		}
	}
}
