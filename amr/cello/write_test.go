package cello

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/comm/commtest"
)

// TestWriteRead writes and reads with any number of ranks and files, with and without a common
// heap.
func TestWriteRead(t *testing.T) {
	ctx := context.Background()
	place := 0 // number of the combination
	for name, s := range map[string]caseSpec{
		"3d":       small(),
		"2d":       {rank: 2, roots: [3]int{4, 4}, block: [3]int{6, 4}, ghost: 2, minLevel: -2, maxLevel: 2, refine: 0.4, seed: 2, typ: amr.Float64, ghosts: true, centered: true, periodic: true},
		"1d":       {rank: 1, roots: [3]int{3}, block: [3]int{5}, ghost: 1, maxLevel: 3, refine: 0.5, seed: 3, typ: amr.Float32, particles: true},
		"noncubic": {rank: 3, roots: [3]int{2, 1, 1}, block: [3]int{8, 4, 2}, ghost: 1, maxLevel: 1, refine: 0.5, seed: 4, typ: amr.Float32, ghosts: true, centered: true, particles: true},
	} {
		c := s.build(t)
		for _, ghosts := range []bool{false, true} {
			if ghosts && !s.ghosts {
				continue
			}
			place++
			for i, ranks := range []int{1, 2, 4, 7} {
				for n, files := range []int{1, 3, 16, len(c.blocks) + 3} {
					for _, apart := range []bool{false, true} {
						if !long && ((i+n+place)%4 != 0 || apart && i%2 == place%2) {
							continue // run each number of ranks and each number of files once for each tree
						}
						t.Run(fmt.Sprintf("%s-ghosts=%v-%d-%d-%v", name, ghosts, ranks, files, apart), func(t *testing.T) {
							mem := memDir(t)
							o := &Options{Files: files, Ghosts: ghosts, FS: mem, Memory: minMemory}
							if err := c.write(ctx, ranks, apart, "c", o); err != nil {
								t.Fatal(err)
							}
							if err := c.holds(ctx, "c", &OpenOptions{FS: mem}); err != nil {
								t.Fatal(err)
							}
							if err := c.write(ctx, ranks, apart, "c", o); !errors.Is(err, ErrExist) {
								t.Fatalf("written twice: %v", err)
							}
						})
					}
				}
			}
		}
	}
}

// TestManySmall: the groups of many blocks need more than one flush.
func TestManySmall(t *testing.T) {
	ctx := context.Background()
	m, local := uniform(t, 8, 3, 1, 5)
	for _, files := range []int{1, 3} {
		for _, apart := range []bool{false, true} {
			mem := memDir(t)
			if err := comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error {
				if apart {
					c = commtest.Isolate(c)
				}
				return Write(ctx, c, "c", m, local[c.Rank()], &Options{Files: files, FS: mem})
			}); err != nil {
				t.Fatal(err)
			}
			if l := wrongHere(errorsOf(findings(mem, "c", nil))); len(l) > 0 {
				t.Fatal(l[0])
			}
			all := slices.Concat(local...)
			tc := &testCase{meta: m, blocks: all}
			if err := tc.holds(ctx, "c", &OpenOptions{FS: mem}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
