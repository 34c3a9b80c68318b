package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
)

// TestTypesAreCompared: elements of another type are refused, also those of the same size.
func TestTypesAreCompared(t *testing.T) {
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{4}, Chunk: 512}, nil)
		must(t, err)
		at, end, x := []int64{0}, []int64{1}, []int64{7}
		for i, err := range []error{Put(ctx, a, at, end, x), Get(ctx, a, at, end, x), GetAt(ctx, a, 0, at, end, x)} {
			if !errors.Is(err, ErrUsage) {
				return fmt.Errorf("access %d: %w", i, err)
			}
		}
		got := make([]float64, 1)
		if err := Get(ctx, a, at, end, got); err != nil || got[0] != 0 {
			return fmt.Errorf("%v, %w", got, err)
		}
		return a.Close(ctx)
	})
}

// TestReadOfDropped: a read during which the version was dropped gives no data, though there was something to be read.
func TestReadOfDropped(t *testing.T) {
	for _, direct := range []bool{false, true} {
		_, st := memStore(t)
		if direct {
			st = nil
		}
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{64}, Chunk: 512}, nil)
			must(t, err)
			for v := range 3 {
				must(t, Put(ctx, a, []int64{0}, []int64{64}, slices.Repeat([]float64{float64(v + 1)}, 64)))
				inc(ctx, t, a)
			}
			rec, got := a.cat.record(), make([]float64, 64) // the reader has begun
			must(t, a.Drop(ctx, 2))
			if err := a.cat.get(ctx, rec, 2, []int64{0}, []int64{64}, Bytes(got), false); !errors.Is(err, ErrNoVersion) {
				return fmt.Errorf("direct %v: %v, %v", direct, got[:2], err)
			}
			if err := a.cat.get(ctx, rec, 1, []int64{0}, []int64{64}, Bytes(got), false); err != nil || got[63] != 1 {
				return fmt.Errorf("direct %v: the one before: %v, %w", direct, got[:2], err)
			}
			return a.Close(ctx)
		})
	}
}
