package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
)

// A regrid that cannot be leaves the level as it was: its boxes, its data, and what is saved next.
func TestRegridFails(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, nil, hierarchySpec(1, 1), nil)
		must(t, err)
		boxes := []BoxInfo{{Hi: [3]int32{7, 7, 0}}, {Lo: [3]int32{8}, Hi: [3]int32{15, 7, 0}, Owner: 1}}
		if _, err := h.Regrid(ctx, 1, boxes); err != nil {
			return err
		}
		for save, huge := range []BoxInfo{{Hi: [3]int32{1 << 17, 1 << 17, 0}}, {Hi: [3]int32{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}}, {Lo: [3]int32{2}, Hi: [3]int32{1, 1, 1}}} {
			if _, err := h.Regrid(ctx, 1, []BoxInfo{huge}); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("%+v: %w", huge, err)
			}
			if got := h.Info(1).Boxes; !slices.Equal(got, boxes) {
				return fmt.Errorf("after a regrid that failed: %+v", got)
			}
			n, err := h.Save(ctx, 1, float64(save), 1, int64(save), own(h, 1, int64(save)))
			must(t, err)
			table, err := h.Table(ctx, 1, n)
			if err != nil || !slices.Equal(table.Boxes, boxes) {
				return fmt.Errorf("saved after a regrid that failed: %+v, %w", table, err)
			}
			for b := range boxes {
				got := make([]float64, 128)
				if err := h.Box(ctx, 1, n, table, b, got); err != nil || !slices.Equal(got, boxData(table, b, int64(save))) {
					return fmt.Errorf("box %d: %w", b, err)
				}
			}
		}
		return h.Close(ctx)
	})
}

// A level that there is not is an error of each method.
func TestNoSuchLevel(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, nil, hierarchySpec(1, 1), nil)
		must(t, err)
		for _, l := range []int{-1, 2} {
			if err := h.RestoreLevel(ctx, l, 0); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("RestoreLevel %d: %w", l, err)
			}
			if _, err := h.Table(ctx, l, 0); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("Table %d: %w", l, err)
			}
			if err := h.Box(ctx, l, 0, &LevelInfo{}, 0, nil); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("Box %d: %w", l, err)
			}
			if _, err := h.Regrid(ctx, l, nil); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("Regrid %d: %w", l, err)
			}
			if _, err := h.Save(ctx, l, 0, 0, 0, nil); !errors.Is(err, ErrUsage) {
				return fmt.Errorf("Save %d: %w", l, err)
			}
		}
		return h.Close(ctx)
	})
}

// The table of a level has no box without cells: whoever goes over its rows would not come to an end.
func TestEmptyBoxInTable(t *testing.T) {
	l := LevelInfo{Dim: 2, Comps: 1, Ratio: 2, Boxes: []BoxInfo{{Lo: [3]int32{5, -1 << 31, -1 << 31}, Hi: [3]int32{4, 1<<31 - 1, 1<<31 - 1}}}}
	l.layout()
	b := append(l.header(0), l.table()...)
	b = sealedTable(b)
	_, err := readTable("amr.level0", int64(len(b)), func(lo, hi int64, dst []byte) error { copy(dst, b[lo:hi]); return nil })
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
