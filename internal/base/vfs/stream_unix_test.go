//go:build unix

package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"blobio/internal/base/vfs"
)

func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string) (vfs.File, error){vfs.OS.Open, vfs.OS.OpenRW, func(n string) (vfs.File, error) { return vfs.OpenOwn(nil, n) }} {
		if f, err := open(name); !errors.Is(err, vfs.ErrPipe) {
			t.Errorf("open of a pipe: %v, %v", f, err)
		}
	}
	if b, err := vfs.ReadStream(name, 10); len(b) != 0 || err != nil {
		t.Errorf("a pipe that nobody writes to: %q, %v", b, err)
	}
	r, w, err := os.Pipe() // like <(command) in a shell
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("twelve bytes"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		if b, err := vfs.ReadStream(filepath.Join("/proc/self/fd", itoa(r.Fd())), 12); string(b) != "twelve bytes" || err != nil {
			t.Errorf("a pipe: %q, %v", b, err)
		}
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if b, err := vfs.ReadStream("/dev/zero", 10); len(b) != 10 || !errors.Is(err, vfs.ErrTooLong) {
			t.Errorf("a device without an end: %q, %v", b, err)
		}
	}
}

func itoa(n uintptr) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// TestRootPipe: a pipe is refused without waiting for its writer.
func TestRootPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "p"), 0o666); err != nil {
		t.Skip(err)
	}
	r, err := vfs.NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Open(filepath.Join(dir, "p")); !errors.Is(err, vfs.ErrPipe) && !errors.Is(err, syscall.ENXIO) {
		t.Errorf("a pipe: %v", err)
	}
}
