package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// spoil changes the last byte of the chunks of a file.
func spoil(t *testing.T, mem *vfs.Mem, name string) {
	t.Helper()
	f, err := mem.OpenRW(name)
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	r, err := ffformat.NewReader(f, size, name, nil)
	must(t, err)
	at := int64(0)
	for _, v := range r.File().Vars() {
		if v.ID != aboutID && v.ID%2 == 1 {
			c := r.File().Containers(v.ID)[0]
			at = c.Fptr + c.ChunkSize - 1
		}
	}
	b := []byte{0}
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedNewest: damage affects only data in the damaged file. A damaged old snapshot does not affect other snapshots, and a
// damaged version after the last snapshot affects no snapshot. If the newest version or snapshot is damaged, opening it is an
// error, but older ones can be opened. A changed byte of a snapshot is always detected, so a snapshot never opens wrong versions.
func TestDamagedNewest(t *testing.T) {
	mem, st := memStore(t)
	const levels, last = 2, 3
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, st, hierarchySpec(1, 1), nil)
		must(t, err)
		for l := range levels {
			if _, err := h.Regrid(ctx, l, []BoxInfo{{Hi: [3]int32{7, 7, 0}}}); err != nil {
				return err
			}
		}
		for s := int64(1); s <= last+1; s++ {
			for l := range levels {
				if _, err := h.Save(ctx, l, float64(s), 1, s, own(h, l, s)); err != nil {
					return err
				}
			}
			if s <= last { // the last save is after the last snapshot
				if _, err := h.Snapshot(ctx); err != nil {
					return err
				}
			}
		}
		return h.Close(ctx)
	})
	file := func(array string, version int) string {
		return fmt.Sprintf("d/amr.%s/%s", array, dataName(2, int64(version), 0))
	}
	opens := func(store *Store, snapshot, step int64, want error) {
		t.Helper()
		ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
			open := func() (*Hierarchy, error) { return OpenHierarchy(ctx, c, store, "amr", nil) }
			if snapshot != newest {
				open = func() (*Hierarchy, error) { return OpenHierarchyAt(ctx, c, store, "amr", snapshot, nil) }
			}
			h, err := open()
			if want != nil {
				if !errors.Is(err, want) {
					return fmt.Errorf("opened at %d: %v, want %v", snapshot, err, want)
				}
				return nil
			}
			if err != nil {
				return fmt.Errorf("opened at %d: %w", snapshot, err)
			}
			if got := h.Info(1).Step; got != step {
				return fmt.Errorf("opened at %d: step %d, want %d", snapshot, got, step)
			}
			return h.Close(ctx)
		})
	}
	damage := func(name string, f func()) {
		spoil(t, mem, name)
		f()
		spoil(t, mem, name)
	}
	opens(st, newest, last, nil)
	opens(st, 1, 1, nil)
	opens(st, 0, 0, ErrNoVersion)
	opens(st, last+1, 0, ErrNoVersion)
	damage(file("level1", last+1), func() { opens(st, newest, last, nil) })
	damage(file("global", 1), func() {
		opens(st, newest, last, nil)
		opens(st, 1, 0, ErrChecksum)
	})
	damage(file("global", last), func() {
		opens(st, newest, 0, ErrChecksum)
		opens(st, last-1, last-1, nil)
	})
	damage(file("level1", last), func() {
		opens(st, newest, 0, ErrChecksum)
		opens(st, last-1, last-1, nil)
	})
	// Change a digit of a version number in the middle of the snapshot's chunk. Without verification the snapshot would name
	// another state.
	name := file("global", last)
	b, err := vfs.ReadFile(mem, name, 1<<20)
	must(t, err)
	at := slices.Index(b, '"')
	for i := range b {
		if string(b[i:min(i+11, len(b))]) == `"Versions":` {
			at = i + len(`"Versions":[`)
		}
	}
	f, err := mem.OpenRW(name)
	must(t, err)
	defer f.Close()
	if b[at] != '0'+last {
		t.Fatalf("%q", b[at])
	}
	if _, err := f.WriteAt([]byte{'1'}, int64(at)); err != nil {
		t.Fatal(err)
	}
	opens(st, newest, 0, ErrChecksum)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		h, err := OpenHierarchyAt(ctx, c, st, "amr", last-1, nil)
		must(t, err)
		if err := h.RestoreSnapshot(ctx, last); !errors.Is(err, ErrChecksum) {
			return fmt.Errorf("restored to a snapshot of another state: %w", err)
		}
		return h.Close(ctx)
	})
}

// TestOpenAt: an array can be opened at any version. The next version continues from this version, with a higher number than the
// newest version.
func TestOpenAt(t *testing.T) {
	_, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int32, Shape: []int64{10}, Chunk: 512}, nil)
		must(t, err)
		for v := int64(1); v <= 3; v++ {
			if _, err := a.Reserve(ctx, 10*v); err != nil {
				return err
			}
			if c.Rank() == 0 {
				must(t, Put(ctx, a, []int64{0}, []int64{10 * v}, slices.Repeat([]int32{int32(v)}, int(10*v))))
			}
			if _, err := a.Inc(ctx, 2, ""); err != nil {
				return err
			}
		}
		return a.Close(ctx)
	})
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		for _, v := range []int64{-1, 1, 7} {
			if _, err := OpenAt(ctx, c, st, "a", v, nil); !errors.Is(err, ErrNoVersion) {
				return fmt.Errorf("at %d: %w", v, err)
			}
		}
		a, err := OpenAt(ctx, c, st, "a", 2, nil)
		must(t, err)
		if elems(a.state.shape) != 10 || a.Newest() != 6 {
			return fmt.Errorf("%d elements, newest %d", elems(a.state.shape), a.Newest())
		}
		must(t, same(ctx, a, slices.Repeat([]int32{1}, 10)))
		if n, err := a.Inc(ctx, 1, ""); err != nil || n != 7 {
			return fmt.Errorf("%d, %w", n, err)
		}
		got := make([]int32, 30)
		if err := GetAt(ctx, a, 6, []int64{0}, []int64{30}, got); err != nil || !slices.Equal(got, slices.Repeat([]int32{3}, 30)) {
			return fmt.Errorf("%v, %w", got, err)
		}
		return a.Close(ctx)
	})
}
