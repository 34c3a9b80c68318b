package versioned

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestRegridFails: after an impossible regrid, the boxes and data of the level are unchanged, and the next
// save works.
func TestRegridFails(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, nil, hierarchySpec(1, 1), nil)
		must(t, err)
		boxes := []BoxInfo{{Hi: [3]int32{7, 7, 0}}, {Lo: [3]int32{8}, Hi: [3]int32{15, 7, 0}, Owner: 1}}
		if _, err := h.Regrid(ctx, 1, boxes); err != nil {
			return err
		}
		for save, huge := range []BoxInfo{{Hi: [3]int32{1 << 17, 1 << 17, 0}}, {Hi: [3]int32{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}}, {Lo: [3]int32{2}, Hi: [3]int32{1, 1, 1}}} {
			if _, err := h.Regrid(ctx, 1, []BoxInfo{huge}); !errors.Is(err, fault.ErrUsage) {
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

// TestNoSuchLevel: each method returns an error for a level that does not exist.
func TestNoSuchLevel(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, nil, hierarchySpec(1, 1), nil)
		must(t, err)
		for _, l := range []int{-1, 2} {
			if err := h.RestoreLevel(ctx, l, 0); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("RestoreLevel %d: %w", l, err)
			}
			if _, err := h.Table(ctx, l, 0); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("Table %d: %w", l, err)
			}
			if err := h.Box(ctx, l, 0, &LevelInfo{}, 0, nil); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("Box %d: %w", l, err)
			}
			if _, err := h.Regrid(ctx, l, nil); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("Regrid %d: %w", l, err)
			}
			if _, err := h.Save(ctx, l, 0, 0, 0, nil); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("Save %d: %w", l, err)
			}
		}
		return h.Close(ctx)
	})
}

// TestTypesAreCompared: Put and Get refuse elements of another type, even if they have the same size.
func TestTypesAreCompared(t *testing.T) {
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, nil, 4, nil)
		at, end, x := []int64{0}, []int64{1}, []int64{7}
		for i, err := range []error{Put(ctx, a, at, end, x), Get(ctx, a, at, end, x), GetAt(ctx, a, 0, at, end, x)} {
			if !errors.Is(err, fault.ErrUsage) {
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

// TestReadOfDropped: if a version is dropped during a read, the read returns an error, even if it found some
// of the data.
func TestReadOfDropped(t *testing.T) {
	for _, direct := range []bool{false, true} {
		_, st := memStore(t)
		if direct {
			st = nil
		}
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a := floats(ctx, t, c, st, 64, nil)
			for v := range 3 {
				must(t, Put(ctx, a, []int64{0}, []int64{64}, slices.Repeat([]float64{float64(v + 1)}, 64)))
				inc(ctx, t, a)
			}
			rec, got := a.cat.record(), make([]float64, 64) // the reader has the record already
			must(t, a.Drop(ctx, 2))
			if err := a.cat.get(ctx, rec, 2, []int64{0}, []int64{64}, bytesOf(got)); !errors.Is(err, ErrNoVersion) {
				return fmt.Errorf("direct %v: %v, %v", direct, got[:2], err)
			}
			if err := a.cat.get(ctx, rec, 1, []int64{0}, []int64{64}, bytesOf(got)); err != nil || got[63] != 1 {
				return fmt.Errorf("direct %v: the one before: %v, %w", direct, got[:2], err)
			}
			return a.Close(ctx)
		})
	}
}

// TestDocument: docs/format-versions.md shows the bytes that the package writes.
func TestDocument(t *testing.T) {
	if elem.HostBig {
		t.Skip("SKIPPED: the document shows what a little-endian machine writes")
	}
	mem, st := memStore(t)
	at := time.Unix(1_700_000_000, 0)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "n", Type: elem.Int16, Shape: []int64{300}, Chunk: 512}, &Options{clock: func() time.Time { return at }})
		must(t, err)
		must(t, Put(ctx, a, []int64{0}, []int64{4}, []int16{1, 2, -1, 300}))
		if _, err := a.Inc(ctx, 1, "first"); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	doc, err := os.ReadFile("../docs/format-versions.md")
	must(t, err)
	rec, err := vfs.ReadFile(mem, "d/n/versions", 1<<20)
	must(t, err)
	if !strings.Contains(string(doc), string(rec)) {
		t.Errorf("the record in the document is another; it is\n%s", rec)
	}
	b, err := vfs.ReadFile(mem, "d/n/"+dataName(1, 1, 0), 1<<20)
	must(t, err)
	var dump strings.Builder
	for off := 0; off < 64; off += 16 {
		fmt.Fprintf(&dump, "%07d", off)
		for _, x := range b[off : off+16] {
			fmt.Fprintf(&dump, " %02x", x)
		}
		dump.WriteByte('\n')
	}
	if !strings.Contains(string(doc), dump.String()) {
		t.Errorf("the bytes in the document are others; they are\n%s", dump.String())
	}
}
