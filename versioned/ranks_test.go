package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
)

// Ranks that pass different things to what is collective get an error, all of them; nothing is made, and the array can be used.
func TestRanksDiffer(t *testing.T) {
	for _, kind := range []string{"memory", "memory of processes", "shared"} {
		mem, st := memStore(t)
		if kind != "shared" {
			st = nil
		}
		ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
			if kind == "memory of processes" {
				c = comm.Isolate(c)
			}
			odd := btoi(c.Rank() == 2)
			want := Spec{Name: "a", Type: Int16, Shape: []int64{90}, Chunk: 512, Extra: 1}
			for _, x := range []struct {
				what string
				spec Spec
			}{
				{"shape", Spec{Name: "a", Type: Int16, Shape: []int64{90 + odd}, Chunk: 512}},
				{"chunk", Spec{Name: "a", Type: Int16, Shape: []int64{90}, Chunk: int(512 + 8*odd)}},
				{"retention", Spec{Name: "a", Type: Int16, Shape: []int64{90}, Keep: Retention{Last: int(odd)}}},
				{"type", Spec{Name: "a", Type: Int16 + Type(odd), Shape: []int64{90}}},
			} {
				if _, err := Create(ctx, c, st, x.spec, nil); !errors.Is(err, ErrUsage) {
					return fmt.Errorf("%s, another %s: %w", kind, x.what, err)
				}
			}
			key := []byte("0123456789abcdef")
			key[0] += byte(odd)
			if _, err := Create(ctx, c, st, want, &Options{Key: key}); err == nil || kind != "memory of processes" && !errors.Is(err, ErrKey) {
				return fmt.Errorf("%s, another key: %w", kind, err)
			}
			if list, err := List("d", mem); err != nil || len(list) > 0 {
				return fmt.Errorf("left behind: %v, %w", list, err)
			}
			must(t, c.Barrier(ctx))
			a, err := Create(ctx, c, st, want, nil)
			must(t, err)
			must(t, Put(ctx, a, []int64{int64(c.Rank()) * 30}, []int64{int64(c.Rank())*30 + 30}, slices.Repeat([]int16{7}, 30)))
			if n, err := a.Inc(ctx, 1+odd, ""); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("%s, another step: %d, %w", kind, n, err)
			}
			if n, err := a.Inc(ctx, 1, fmt.Sprint("of rank ", odd)); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("%s, another label: %d, %w", kind, n, err)
			}
			if _, err := a.Reserve(ctx, 95-odd); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("%s, another length: %w", kind, err)
			}
			if a.Len() != 90 || a.Newest() != 0 {
				return fmt.Errorf("%s: %d elements, version %d", kind, a.Len(), a.Newest())
			}
			if n, err := a.Inc(ctx, 1, "all"); err != nil || n != 1 {
				return fmt.Errorf("%s: %d, %w", kind, n, err)
			}
			got := make([]int16, 90)
			if err := GetAt(ctx, a, 1, []int64{0}, []int64{90}, got); err != nil || !slices.Equal(got, slices.Repeat([]int16{7}, 90)) {
				return fmt.Errorf("%s: %v, %w", kind, got, err)
			}
			return a.Close(ctx)
		})
	}
}
