package versioned

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// TestIncAgain: if an operation of Inc fails, no rank has a new version, even if its file cannot be removed. The array is
// unchanged, and the next attempt makes the version.
func TestIncAgain(t *testing.T) {
	for name, bad := range map[string]func(op vfs.Op) bool{
		"close":                  func(op vfs.Op) bool { return op.Kind == vfs.OpClose && isData(filepath.Base(op.Name)) },
		"sync and remove":        func(op vfs.Op) bool { return op.Kind == vfs.OpSync || op.Kind == vfs.OpRemove },
		"no room for the record": func(op vfs.Op) bool { return op.Kind == vfs.OpCreate && durable.IsTemp(op.Name) },
	} {
		mem, _ := memStore(t)
		var failing atomic.Bool
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if failing.Load() && bad(op) {
				return errors.New("data lost")
			}
			return nil
		})
		ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
			a := floats(ctx, t, c, &Store{Dir: "d", FS: fsys}, 256, nil)
			fail := func(x bool) {
				must(t, c.Barrier(ctx))
				failing.Store(x)
				must(t, c.Barrier(ctx))
			}
			lo := int64(c.Rank()) * 64
			must(t, Put(ctx, a, []int64{lo}, []int64{lo + 64}, seq(int(lo), 64, 1)))
			fail(true)
			if n, err := a.Inc(ctx, 1, ""); err == nil || errors.Is(err, ErrBroken) || a.Newest() != 0 {
				return fmt.Errorf("%s failed: %d, %v, newest %d", name, n, err, a.Newest())
			}
			fail(false)
			if n, err := a.Inc(ctx, 1, ""); n != 1 || err != nil {
				return fmt.Errorf("%s, again: %d, %w", name, n, err)
			}
			got := make([]float64, 256)
			if err := GetAt(ctx, a, 1, []int64{0}, []int64{256}, got); err != nil || !slices.Equal(got, seq(0, 256, 1)) {
				return fmt.Errorf("%s: %v, %w", name, got, err)
			}
			return a.Close(ctx)
		})
	}
}

// TestCommittedSurvives: a committed version survives a power loss: its files, and the record under both names. The files become
// durable before the record. If two names in one directory are not synced, either name may survive alone.
func TestCommittedSurvives(t *testing.T) {
	mem, st := memStore(t)
	must(t, mem.SyncDir("."))
	var before *vfs.Mem // state after a power loss just when the first record gets its name
	st.FS = vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && before == nil {
			before = mem.CrashClone(vfs.CrashOptions{})
		}
		return nil
	})
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, 128, nil)
		for v := int64(1); v <= 3; v++ {
			must(t, Put(ctx, a, []int64{0}, []int64{128}, seq(0, 128, float64(v))))
			before = nil
			inc(ctx, t, a)
			for _, f := range a.cat.record().Files {
				if info, err := before.Stat("d/a/" + f.Name); err != nil || info.Size() != f.Size {
					return fmt.Errorf("version %d, a power loss when the record gets its name: %s: %w", v, f.Name, err)
				}
			}
			left := mem.CrashClone(vfs.CrashOptions{})
			for i, n := range arrays.Seals {
				if rec, bad := readRecords(left, "d/a"); rec == nil || rec.Seq != a.cat.record().Seq || bad[i] != nil {
					return fmt.Errorf("version %d, after a power loss: %s: %w", v, n, bad[i])
				}
			}
			b, err := Open(ctx, c, &Store{Dir: "d", FS: left}, "a", nil)
			if err != nil {
				return fmt.Errorf("version %d, after a power loss: %w", v, err)
			}
			got := make([]float64, 128)
			if err := GetAt(ctx, b, v, []int64{0}, []int64{128}, got); err != nil || !slices.Equal(got, seq(0, 128, float64(v))) {
				return fmt.Errorf("version %d, after a power loss: %v, %w", v, got, err)
			}
			must(t, b.Close(ctx))
		}
		return a.Close(ctx)
	})
}

// TestRunsOfFiles: if consecutive chunks are in two files, at offsets that are also consecutive, they are read from both files.
func TestRunsOfFiles(t *testing.T) {
	_, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, 256, nil)
		want := seq(0, 256, 1)
		must(t, Put(ctx, a, []int64{0}, []int64{256}, want))
		inc(ctx, t, a)
		for _, lo := range []int64{0, 128} { // chunks 0 and 2; in the other file, chunk 1 is at the offset of the second of these
			copy(want[lo:], seq(1000+int(lo), 64, 1))
			must(t, Put(ctx, a, []int64{lo}, []int64{lo + 64}, want[lo:lo+64]))
		}
		inc(ctx, t, a)
		for _, r := range [][2]int64{{0, 256}, {3, 100}, {60, 200}} {
			got := make([]float64, r[1]-r[0])
			if err := GetAt(ctx, a, 2, []int64{r[0]}, []int64{r[1]}, got); err != nil || !slices.Equal(got, want[r[0]:r[1]]) {
				return fmt.Errorf("%v: %v, %w", r, got, err)
			}
		}
		return a.Close(ctx)
	})
}

// TestInstallOlder: if ranks of a process install several records, the process keeps the newest.
func TestInstallOlder(t *testing.T) {
	older, newer := soundRecord(), soundRecord()
	newer.Seq++
	newer.Files = nil
	c, err := newCatalog(older, elem.Float64, nil, 0, &Options{})
	must(t, err)
	defer c.close()
	for _, rec := range []*record{newer, older, newer} {
		gone := c.install(rec)
		if c.record() != newer || len(c.ids) != 0 || len(gone) != 1 || gone[0].Name != older.Files[0].Name {
			t.Errorf("after record %d: record %d, %d files, gone %v", rec.Seq, c.record().Seq, len(c.ids), gone)
		}
	}
}
