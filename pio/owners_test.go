package pio

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cdf5"
)

// TestOwners checks what InitDecomp finds out about the owners of elements, and what single finds out for it.
func TestOwners(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(rank int, mine []int64) []int64
		once   int8
		single bool
	}{
		{"one owner each", func(_ int, mine []int64) []int64 { return mine }, 1, true},
		{"an element with two owners instead of another", func(rank int, mine []int64) []int64 {
			if rank == 2 {
				mine[3] = 1
			}
			return mine
		}, -1, false},
		{"an element with two owners", func(rank int, mine []int64) []int64 {
			if rank == 2 {
				mine = append(mine, 1)
			}
			return mine
		}, -1, false},
		{"an element without an owner", func(rank int, mine []int64) []int64 {
			if rank == 2 {
				mine[3] = 0
			}
			return mine
		}, 0, true},
		{"one without, one with two", func(rank int, mine []int64) []int64 {
			if rank == 2 {
				mine[3], mine[4] = 0, 1
			}
			return mine
		}, 0, false},
	} {
		together(t, 4, func(ctx context.Context, s *System) error {
			var mine []int64
			for i := s.c.Rank(); i < 101; i += 4 {
				mine = append(mine, int64(i+1))
			}
			d, err := s.InitDecomp(ctx, cdf5.Int, []int64{101}, tc.change(s.c.Rank(), mine), false)
			if err != nil {
				return err
			}
			once := d.once
			single, err := d.single(ctx)
			if err == nil && (once != tc.once || single != tc.single) {
				err = fmt.Errorf("%s: %d and %v, want %d and %v", tc.name, once, single, tc.once, tc.single)
			}
			return err
		})
	}
}

// TestRecordWithHole: a decomposition of two records has as many elements as they, but one of record 1 twice and one of record 0
// not at all. The latter gets the fill value, also after a commit of record 0 alone found that its elements have one owner each.
func TestRecordWithHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, &quick)
		if err != nil {
			return err
		}
		d, e1 := s.InitDecomp(ctx, cdf5.Int, []int64{2, 4}, [][]int64{{1, 2, 3, 5, 6, 7, 8}, {5}}[s.c.Rank()], false)
		one, e2 := blocks(ctx, s, cdf5.Int, 4)
		if err := errors.Join(e1, e2); err != nil {
			return err
		}
		data, got := []int32{1, 2, 3, 5, 6, 7, 8}, make([]int32, 8)
		err = errors.Join(f.WriteDarray(ctx, 1, d, data, nil), f.SetFrame(1, 1))
		if e := f.WriteDarray(ctx, 1, one, data[:2-s.c.Rank()], nil); s.c.Rank() == 1 {
			err = errors.Join(err, wants("short", e, EINVAL))
		}
		err = errors.Join(err, wants("sync", f.Sync(ctx), EINVAL), f.SetFrame(1, 0), f.WriteDarray(ctx, 1, d, data, []int32{9}), f.GetVars(ctx, 1, Part{}, got), f.Close(ctx))
		if err != nil || d.parts[0].once != 1 || !slices.Equal(got, []int32{1, 2, 3, 9, 1, 6, 7, 8}) {
			return fmt.Errorf("%v, %d: %w", got, d.parts[0].once, err)
		}
		return nil
	})
}
