package parfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNames: the assumptions of leases and commits hold between two clients: a name is made once, a lock excludes, a rename
// replaces a file at once for all later opens.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, s *system) {
		dir := s.folder(t)
		at := func(i int, name string) string { return filepath.Join(dir[i], name) }
		must(t, vfs.WriteFile(vfs.OS, at(0, "a"), []byte("first")))
		if f, err := vfs.OS.Create(at(1, "a")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a name that is there is made again: %v, %v", f, err)
		}
		if vfs.OS.Local(at(0, "a")) {
			t.Error("it passes for a file system of one machine")
		}
		f, err := vfs.OS.OpenRW(at(0, "a"))
		must(t, err)
		defer f.Close()
		g, err := vfs.OS.OpenRW(at(1, "a"))
		must(t, err)
		defer g.Close()
		must(t, vfs.Lock(f, true))
		if err := vfs.Lock(g, true); !errors.Is(err, vfs.ErrLocked) {
			t.Errorf("two clients lock one file: %v", err)
		}
		must(t, f.Close())
		must(t, until(func() error { return vfs.Lock(g, true) }))

		must(t, vfs.WriteFile(vfs.OS, at(0, "b"), []byte("again")))
		must(t, vfs.OS.Rename(at(0, "b"), at(0, "a")))
		must(t, vfs.OS.SyncDir(dir[0]))
		old := make([]byte, 5)
		if _, err := g.ReadAt(old, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Logf("a file that was replaced while it was open: %v", err)
		}
		var took time.Duration
		from := time.Now()
		must(t, until(func() error {
			took = time.Since(from)
			b, err := vfs.ReadFile(vfs.OS, at(1, "a"), 100)
			if err == nil && !bytes.Equal(b, []byte("again")) {
				err = fs.ErrInvalid
			}
			return err
		}))
		t.Logf("the other client finds what replaced a file after %v", took.Round(time.Millisecond))
		if err := vfs.OS.Rename(at(1, "a"), dir[1]); err == nil {
			t.Error("a file replaces a directory")
		}
		if err := vfs.OS.Remove(at(1, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestLease: the lease of one client excludes the other, and a client that has lost it gets an error.
func TestLease(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, s *system) {
		dir := s.folder(t)
		mine, theirs := filepath.Join(dir[0], "d"), filepath.Join(dir[1], "d")
		l, err := durable.Acquire(ctx, vfs.OS, mine, durable.LeaseOptions{})
		must(t, err)
		if _, err := durable.Acquire(ctx, vfs.OS, theirs, durable.LeaseOptions{Boot: "another", Patience: time.Millisecond}); !errors.Is(err, fault.ErrInUse) {
			t.Errorf("the other client: %v", err)
		}
		must(t, l.Check())
		must(t, l.Release())
		l, err = durable.Acquire(ctx, vfs.OS, theirs, durable.LeaseOptions{})
		must(t, err)
		if _, err := durable.Acquire(ctx, vfs.OS, mine, durable.LeaseOptions{}); !errors.Is(err, fault.ErrInUse) {
			t.Errorf("after it was released: %v", err)
		}
		must(t, l.Release())
	})
}
