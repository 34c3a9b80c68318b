//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/internal/fault"
)

// TestLoopback: it shows files as they are, lets nobody write, and is gone when its context ends; a place inside of what it shows is refused.
func TestLoopback(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	want := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	ok(t, os.WriteFile(filepath.Join(dir, "x"), want, 0o666))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	up, ended := make(chan bool), make(chan error, 1)
	go func() { ended <- Loopback(ctx, dir, at, func() { close(up) }) }()
	select {
	case <-up:
	case err := <-ended:
		if errors.Is(err, ErrUnavailable) {
			t.Skipf("no FUSE mounts here: %v", err)
		}
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(at, "x"))
	ok(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, or others", len(got), len(want))
	}
	if err := os.WriteFile(filepath.Join(at, "y"), nil, 0o666); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing: %v, want %v", err, unix.EROFS)
	}
	end()
	ok(t, <-ended)
	if list, err := os.ReadDir(at); err != nil || len(list) != 0 {
		t.Errorf("still mounted: %v, %v", list, err)
	}
	inside := filepath.Join(dir, "in")
	ok(t, os.Mkdir(inside, 0o777))
	if err := Loopback(t.Context(), dir, inside, func() { t.Error("mounted") }); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("mounted at %s: %v", inside, err)
	}
}
