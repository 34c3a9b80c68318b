//go:build linux && !386 && !arm

package mount

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"blobio/extra/peers/lockfs"
)

// two mounts of a directory.
func two(t *testing.T) (s *lockfs.Server, at [2]string, unmount func()) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	f.Close()
	dir := t.TempDir()
	if s, err = lockfs.New(lockfs.Config{Clients: 2, Servers: 2, Layout: lockfs.Layout{Size: 1 << 20, Count: 2}}); err != nil {
		t.Fatal(err)
	}
	var mounts []*Mount
	unmount = func() {
		for _, m := range mounts {
			if err := m.Unmount(); err != nil {
				t.Error(err)
			}
		}
		mounts = nil
	}
	t.Cleanup(func() { unmount() })
	for i := range at {
		at[i] = t.TempDir()
		m, err := New(s, i, dir, at[i])
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("no FUSE mounts here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, m)
	}
	return s, at, unmount
}

// TestCalls: the counts equal the calls of a program.
func TestCalls(t *testing.T) {
	s, at, unmount := two(t)
	name := func(i int, s string) string { return filepath.Join(at[i], s) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(name(0, "d"), 0o777))
	f, err := os.OpenFile(name(0, "d/a"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	must(err)
	big := make([]byte, 3<<20)
	_, err = f.WriteAt(big, 0) // the kernel hands it over in parts
	must(err)
	_, err = f.WriteAt([]byte("other"), 5)
	must(err)
	must(f.Sync())
	g, err := os.OpenFile(name(1, "d/a"), os.O_RDWR, 0)
	must(err)
	b := make([]byte, 5)
	if _, err := g.ReadAt(b, 5); err != nil || string(b) != "other" {
		t.Errorf("another node reads %q, %v", b, err)
	}
	_, err = g.WriteAt([]byte("mine"), 1<<20)
	must(err)
	must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	if err := syscall.Flock(int(g.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("locked by both nodes: %v", err)
	}
	must(f.Close())
	must(g.Close())
	must(syscall.Rename(name(0, "d/a"), name(0, "d/b")))
	if _, err := os.Lstat(name(1, "d/b")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(name(1, "d/a")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must(os.Truncate(name(1, "d/b"), 7))
	d, err := os.Open(name(1, "d"))
	must(err)
	names, err := d.Readdirnames(-1)
	must(err)
	must(d.Sync())
	must(d.Close())
	if len(names) != 1 || names[0] != "b" {
		t.Error(names)
	}
	unmount()
	r := s.Report()
	want := [2]map[string]int64{
		{"mkdir": 1, "create": 1, "fsync": 1, "lock": 1, "close": 1, "rename": 1},
		{"lookup": 2, "open": 2, "lock": 1, "close": 2, "getattr": 1, "setattr": 1, "readdir": 1, "fsync": 1}, // it looks up d, and a that is no more
	}
	for i, c := range r.Clients {
		if !maps.Equal(c.Metadata, want[i]) {
			t.Errorf("node %d: %v, want %v", i, c.Metadata, want[i])
		}
	}
	c := r.Files[0]
	if len(r.Files) != 1 || c.Name != "d/b" || c.Writes.Writes != 3 || c.Small != 2 || c.Unaligned != 2 || c.Reads != 1 || c.Bytes != 3<<20+9 || c.Size != 7 {
		t.Errorf("%+v", r.Files)
	}
	// Node 0 has all of both objects. The read takes one of them, the write the other.
	if c.LockMoves != 2 || c.SharedUnits != 1 || c.FirstShared[0] != 1 || c.ReadModifyWrites != 1 {
		t.Errorf("%+v", c)
	}
}
