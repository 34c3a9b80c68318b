package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSyncOfClosed: Sync makes a system call.
func TestSyncOfClosed(t *testing.T) {
	f, err := OS.Create(filepath.Join(t.TempDir(), "f"))
	ok(t, err)
	ok(t, f.Sync())
	ok(t, f.Close())
	if err := f.Sync(); err == nil {
		t.Error("a closed file was synced")
	}
}

// TestInterrupted: a call interrupted by a signal is repeated.
func TestInterrupted(t *testing.T) {
	f, err := OS.Create(filepath.Join(t.TempDir(), "f"))
	ok(t, err)
	defer f.Close()
	calls := 0
	err = f.(*osFile).system("test", func(int) error {
		if calls++; calls < 3 {
			return syscall.EINTR
		}
		return syscall.EIO
	})
	if calls != 3 || !errors.Is(err, syscall.EIO) {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// TestInMemory compares InMemory with the type that statfs returns for the directory.
func TestInMemory(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/dev/shm"} {
		var st unix.Statfs_t
		f, err := os.CreateTemp(dir, "blobio")
		if err != nil {
			continue
		}
		name := f.Name()
		ok(t, errors.Join(f.Close(), unix.Statfs(dir, &st)))
		g, err := OS.Open(name)
		ok(t, err)
		if want := int64(st.Type) == unix.TMPFS_MAGIC; InMemory(g) != want {
			t.Errorf("%s: %v, want %v", dir, !want, want)
		}
		ok(t, errors.Join(g.Close(), os.Remove(name)))
	}
	g, err := NewMem().Create("f")
	ok(t, err)
	if InMemory(g) { // unknown, because it is no file of the system
		t.Error("a file of another FS")
	}
}

// TestAllocateTooMuch: Allocate of more than the free space of a tmpfs fails before a write.
func TestAllocateTooMuch(t *testing.T) {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil || int64(st.Type) != unix.TMPFS_MAGIC || st.Blocks == 0 {
		t.Skip("/dev/shm is no tmpfs with a limit")
	}
	dir, err := os.MkdirTemp("/dev/shm", "blobio")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	f, err := OS.Create(filepath.Join(dir, "f"))
	ok(t, err)
	defer f.Close()
	ok(t, f.Allocate(0, 1))
	if err := f.Allocate(0, 1<<60); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("2^60 bytes: %v", err)
	}
}
