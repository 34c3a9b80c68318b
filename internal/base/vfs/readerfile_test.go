package vfs

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// TestReaderFile: a ReaderFile is read like a file on disk and cannot be changed.
func TestReaderFile(t *testing.T) {
	f := ReaderFile("d/f", 5, strings.NewReader("12345"))
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 3); n != 2 || err != io.EOF || string(b[:n]) != "45" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if size, err := f.Size(); size != 5 || err != nil || f.Name() != "d/f" {
		t.Error(size, err, f.Name())
	}
	_, at := f.WriteAt(b, 0)
	_, vat := f.WritevAt([][]byte{b}, 0)
	for _, err := range []error{at, vat, f.Truncate(0), f.Allocate(0, 1), f.Sync()} {
		if !errors.Is(err, syscall.EROFS) {
			t.Error(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
