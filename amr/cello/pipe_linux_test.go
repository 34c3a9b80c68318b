package cello

import (
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/vfs"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipes: if a file is a pipe, calls return an error and do not wait for a writer of the pipe.
func TestPipes(t *testing.T) {
	c := small().build(t)
	for _, name := range []string{cellodir.FileList, "block_data-1" + cellodir.ListSuffix, "block_data-1" + cellodir.DataSuffix, cellodir.Manifest} {
		dir := onDisk(t, c, 2, &Options{Files: 3})
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skipf("SKIPPED: no pipes here: %v", err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			k, err := Open(context.Background(), dir, nil)
			if err == nil {
				k.Close()
			}
			if !errors.Is(err, vfs.ErrPipe) {
				t.Errorf("%s: Open: %v, want %v", name, err, vfs.ErrPipe)
			}
			if l := errorsOf(findings(nil, dir, nil)); len(l) == 0 || !strings.Contains(l[0].Msg, "a pipe or a socket") {
				t.Errorf("%s: findings %v", name, l)
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil { // unblocks the reader
				f.Close()
			}
			t.Fatalf("%s: waits for the writer of the pipe", name)
		}
	}
}

// TestMissingFile: the text of a finding is one line without repetition.
func TestMissingFile(t *testing.T) {
	dir := onDisk(t, small().build(t), 2, &Options{Files: 3})
	if err := os.Remove(filepath.Join(dir, "block_data-1"+cellodir.DataSuffix)); err != nil {
		t.Fatal(err)
	}
	l := errorsOf(findings(nil, dir, nil))
	if len(l) == 0 || !errors.Is(l[0].Err, ErrMissing) || strings.Contains(l[0].Msg, "\n") {
		t.Errorf("findings %q", l)
	}
}
