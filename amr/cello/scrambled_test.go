package cello

import (
	"context"
	"errors"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
)

// TestScrambled: fields of non-cubic blocks that Enzo-E wrote without ghosts are marked as
// scrambled. Fields in directories written by this module are not; such directories have a
// manifest.
func TestScrambled(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		rank  int
		block [3]int
		ghost int
		bad   bool
	}{
		{2, [3]int{4, 2}, 2, true}, {2, [3]int{4, 4}, 2, false}, {3, [3]int{8, 4, 4}, 2, true}, {3, [3]int{4, 8, 4}, 2, false},
		{3, [3]int{4, 4, 8}, 2, true}, {1, [3]int{4}, 2, false}, {2, [3]int{4, 2}, 0, false},
	} {
		s := caseSpec{rank: c.rank, roots: [3]int{2, 2, 2}, block: c.block, ghost: c.ghost, maxLevel: 1, refine: 0.5, seed: 9, typ: amr.Float64, ghosts: true}
		tc := s.build(t)
		for _, ghosts := range []bool{false, true} {
			mem := memDir(t)
			if err := tc.write(ctx, 1, false, "c", &Options{FS: mem, Ghosts: ghosts}); err != nil {
				t.Fatal(err)
			}
			if err := tc.holds(ctx, "c", &OpenOptions{FS: mem}); err != nil {
				t.Fatal(err)
			}
			must(mem.Remove("c/" + cellodir.Manifest)) // without a manifest, Enzo-E may have written the directory
			want := c.bad && !ghosts
			told := false
			for _, f := range findings(mem, "c", nil) {
				told = told || errors.Is(f.Err, ErrScrambled)
			}
			k, err := Open(ctx, "c", &OpenOptions{FS: mem})
			if err != nil {
				t.Fatal(err)
			}
			_, err1 := k.Block(ctx, 0)
			_, err2 := k.Field(ctx, 0, "density", nil)
			if told != want || errors.Is(err1, ErrScrambled) != want || errors.Is(err2, ErrScrambled) != want {
				t.Errorf("%+v, ghosts %v: told %v, %v, %v", c, ghosts, told, err1, err2)
			}
			k.Close()
			if k, err = Open(ctx, "c", &OpenOptions{FS: mem, AcceptScrambled: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := k.Block(ctx, 0); err != nil {
				t.Error(err)
			}
			if err := WriteFrom(ctx, comm.Self(), "copy", k.Meta(), k.Share(0, 1), &Options{FS: mem, Ghosts: ghosts}); err != nil {
				t.Fatal(err)
			}
			k.Close()
			if k, err = Open(ctx, "copy", &OpenOptions{FS: mem}); err != nil {
				t.Fatal(err)
			}
			if k.scrambled(0) != want || k.man == nil {
				t.Errorf("%+v: the copy is scrambled: %v", c, k.scrambled(0))
			}
			k.Close()
		}
	}
}
