package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
)

// TestConflict: two programs, or a program and a tool that drops versions, have a store open. The program that commits second
// gets an error before it replaces any data of the first. Committed versions are not damaged.
func TestConflict(t *testing.T) {
	whole := func(st *Store, want map[int64]float64) error {
		return comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error {
			a, err := Open(ctx, c, st, "a", nil)
			if err != nil {
				return err
			}
			for _, v := range a.Versions() {
				got := make([]float64, 128)
				err := GetAt(ctx, a, v.Number, []int64{0}, []int64{128}, got)
				if x, ok := want[v.Number]; err != nil || !ok || !slices.Equal(got, slices.Repeat([]float64{x}, 128)) {
					return fmt.Errorf("version %d: %v, %v, want %v", v.Number, got, err, want)
				}
			}
			if n := len(a.Versions()); n != len(want) {
				return fmt.Errorf("%d versions, want %v", n, want)
			}
			return a.Close(ctx)
		})
	}
	fill := func(ctx context.Context, a *Array, x float64) error {
		if a.c.Rank() == 1 {
			if err := Put(ctx, a, []int64{0}, []int64{128}, slices.Repeat([]float64{x}, 128)); err != nil {
				return err
			}
		}
		return a.Fence(ctx)
	}
	for _, second := range []string{"the other one", "the first one again", "a drop", "a drop behind"} {
		mem, st := memStore(t)
		want := map[int64]float64{0: 0, 1: 1}
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{128}, Chunk: 512}, nil)
			must(t, err)
			must(t, fill(ctx, a, 1))
			inc(ctx, t, a)
			must(t, a.Close(ctx))
			x, err := Open(ctx, c, st, "a", nil)
			must(t, err)
			y, err := Open(ctx, c, st, "a", nil)
			must(t, err)
			must(t, errors.Join(fill(ctx, x, 2), fill(ctx, y, 3)))
			var view *View
			if c.Rank() == 0 {
				view = openOne(t, mem, "a")
				if second == "a drop behind" {
					_, _, err = view.Drop(ctx, false, 0)
				}
			}
			must(t, comm.Agree(ctx, c, err))
			if second == "a drop behind" {
				if _, err := x.Inc(ctx, 1, ""); !errors.Is(err, ErrConflict) || !errors.Is(err, ErrBroken) {
					return fmt.Errorf("%s: %w", second, err)
				}
				return nil
			}
			if n, err := x.Inc(ctx, 1, ""); n != 2 || err != nil {
				return fmt.Errorf("%d, %w", n, err)
			}
			switch second {
			case "the other one": // both files would have the same name
				if n, err := y.Inc(ctx, 1, ""); !errors.Is(err, ErrConflict) {
					return fmt.Errorf("%s: %d, %w", second, n, err)
				}
				if err := y.Drop(ctx, 0); !errors.Is(err, ErrConflict) || !errors.Is(err, ErrBroken) {
					return fmt.Errorf("%s, Drop: %w", second, err)
				}
				if _, err := y.Inc(ctx, 1, ""); !errors.Is(err, ErrBroken) {
					return fmt.Errorf("%s, again: %w", second, err)
				}
			case "the first one again": // after a commit with another file name
				if n, err := y.Inc(ctx, 7, ""); !errors.Is(err, ErrConflict) || !errors.Is(err, ErrBroken) {
					return fmt.Errorf("%s: %d, %w", second, n, err)
				}
				if n, err := x.Inc(ctx, 1, ""); n != 3 || err != nil {
					return fmt.Errorf("%s: %d, %w", second, n, err)
				}
			case "a drop":
				if c.Rank() == 0 {
					_, _, err = view.Drop(ctx, false, 0)
				}
				if err := comm.Agree(ctx, c, err); !errors.Is(err, ErrConflict) {
					return fmt.Errorf("%s: %w", second, err)
				}
			}
			return nil
		})
		switch second {
		case "a drop behind":
			delete(want, 0)
		case "the first one again":
			want[2], want[3] = 2, 2
		default:
			want[2] = 2
		}
		if err := whole(st, want); err != nil {
			t.Errorf("%s: %v", second, err)
		}
	}
}
