package versioned

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// TestViewOfHierarchy reads tables, boxes and snapshots of a hierarchy without ranks.
func TestViewOfHierarchy(t *testing.T) {
	mem, st := memStore(t)
	var want LevelInfo
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, st, hierarchySpec(1, 1), nil)
		must(t, err)
		for l := range 2 {
			if _, err := h.Regrid(ctx, l, boxes(rand.New(rand.NewSource(5)), 4+l, 3)); err != nil {
				return err
			}
			if _, err := h.Save(ctx, l, 2.5, 0.5, 1, own(h, l, 1)); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			want = h.Info(1)
		}
		if _, err := h.Snapshot(ctx); err != nil {
			return err
		}
		return h.Close(ctx)
	})
	open := func(name string) *View {
		v, err := OpenView("d/"+name, mem, nil)
		must(t, err)
		t.Cleanup(func() { v.Close() })
		return v
	}
	v := open("amr.level1")
	tb, err := v.Table(bg, 1)
	if err != nil || !slices.Equal(tb.Boxes, want.Boxes) || tb.Time != 2.5 {
		t.Fatalf("%+v, %v", tb, err)
	}
	g := open("amr.global")
	s, err := g.Snapshot(bg, 1)
	if err != nil || s.Time != 2.5 || !slices.Equal(s.Versions, []int64{1, 1}) || s.Spec.Name != "amr" {
		t.Errorf("%+v, %v", s, err)
	}
	for what, err := range map[string]error{
		"table before the first save":        func() error { _, err := v.Table(bg, 0); return err }(),
		"table of the global array":          func() error { _, err := g.Table(bg, 1); return err }(),
		"snapshot before the first":          func() error { _, err := g.Snapshot(bg, 0); return err }(),
		"snapshot of the array of one level": func() error { _, err := v.Snapshot(bg, 1); return err }(),
	} {
		if !errors.Is(err, ErrNotFormat) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := v.Table(bg, 9); !errors.Is(err, ErrNoVersion) {
		t.Error(err)
	}
}

// TestViewWithoutKey: without the key of an encrypted store, everything except the elements can be read.
func TestViewWithoutKey(t *testing.T) {
	mem, st := memStore(t)
	key := []byte("0123456789abcdef")
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{640}, Chunk: 512}, &Options{Key: key})
		must(t, err)
		for v := range 3 {
			if c.Rank() == 0 {
				must(t, Put(ctx, a, []int64{0}, []int64{640}, seq(v, 640, 1)))
			}
			inc(ctx, t, a)
		}
		return a.Close(ctx)
	})
	v := openOne(t, mem, "a")
	got := make([]float64, 640)
	if err := v.Get(bg, 3, []int64{0}, []int64{640}, bytesOf(got)); !errors.Is(err, ErrKey) {
		t.Errorf("elements without the key: %v", err)
	}
	all := ""
	for f := range v.Check(bg, nil) {
		if all += f.String(); f.Severity >= fault.Error {
			t.Error(f)
		}
	}
	if !v.Encrypted() || len(v.Versions()) != 4 || !strings.Contains(all, "without the key") {
		t.Errorf("%v, %+v, %q", v.Encrypted(), v.Versions(), all)
	}
	bytes, files, err := v.Drop(bg, true, 1, 2)
	before, had := v.Bytes()
	if err != nil || files != 2 {
		t.Fatalf("%d files, %v", files, err)
	}
	if b, n, err := v.Drop(bg, false, 1, 2); b != bytes || n != files || err != nil {
		t.Errorf("freed %d bytes, %d files, %v; the dry run said %d, %d", b, n, err, bytes, files)
	}
	if now, have := v.Bytes(); before-now != bytes || had-have != files {
		t.Errorf("freed %d bytes, %d files; said %d, %d", before-now, had-have, bytes, files)
	}
	if _, err := OpenView("d/a", mem, []byte("another one 1234")); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	w, err := OpenView("d/a", mem, key)
	must(t, err)
	defer w.Close()
	if err := w.Get(bg, 3, []int64{0}, []int64{640}, bytesOf(got)); err != nil || !slices.Equal(got, seq(2, 640, 1)) {
		t.Error(fmt.Errorf("version 3: %w", err))
	}
}

// TestPinned: Pinned returns the versions that snapshots need, and Expired the versions that a retention
// would drop.
func TestPinned(t *testing.T) {
	mem, st := memStore(t)
	key := []byte("0123456789abcdef")
	for _, secret := range [][]byte{nil, key} {
		st.Dir = fmt.Sprintf("d%d", len(secret))
		must(t, mem.MkdirAll(st.Dir))
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			h, err := CreateHierarchy(ctx, c, st, hierarchySpec(1, 1), &Options{Key: secret})
			must(t, err)
			for save := range int64(5) {
				for l := range 2 {
					if save == 0 {
						if _, err := h.Regrid(ctx, l, boxes(rand.New(rand.NewSource(5)), 4+l, 2)); err != nil {
							return err
						}
					}
					if _, err := h.Save(ctx, l, float64(save), 0.5, 1, own(h, l, 1)); err != nil {
						return err
					}
				}
				if save%2 == 1 {
					if _, err := h.Snapshot(ctx); err != nil {
						return err
					}
				}
			}
			return h.Close(ctx)
		})
		open := func(name string, key []byte) *View {
			v, err := OpenView(st.Dir+"/"+name, mem, key)
			must(t, err)
			t.Cleanup(func() { v.Close() })
			return v
		}
		v := open("amr.level1", secret)
		if pins, err := v.Pinned(bg); err != nil || !slices.Equal(pins, []int64{2, 4}) {
			t.Errorf("pinned: %v, %v; want 2 and 4", pins, err)
		}
		if secret != nil {
			if pins, err := open("amr.level1", nil).Pinned(bg); !errors.Is(err, ErrKey) {
				t.Errorf("without the key: %v, %v", pins, err)
			}
		}
		if pins, err := open("amr.global", secret).Pinned(bg); len(pins) != 0 || err != nil {
			t.Errorf("of no level: %v, %v", pins, err)
		}
		for keep, want := range map[Retention][]int64{{Last: 1}: {0, 1, 2, 3, 4}, {Last: 2, Every: 3}: {1, 2}, {Last: 9}: nil, {}: nil} {
			if got := v.Expired(keep); !slices.Equal(got, want) {
				t.Errorf("expired with %+v: %v, want %v", keep, got, want)
			}
		}
	}
	must(t, mem.Rename("d0/amr.global", "d0/other")) // the global array is missing: it was lost or never made
	v, err := OpenView("d0/amr.level0", mem, nil)
	must(t, err)
	defer v.Close()
	if pins, err := v.Pinned(bg); len(pins) != 0 || err != nil {
		t.Errorf("without snapshots: %v, %v", pins, err)
	}
}
