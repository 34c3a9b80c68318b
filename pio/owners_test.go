package pio

import (
	"context"
	"fmt"
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
