//go:build unix

package pio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFifo checks that Create never replaces a pipe.
func TestFifo(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	together(t, 2, func(ctx context.Context, s *System) error {
		for _, form := range []Form{Variable, Process, Canonical} {
			if _, err := s.Create(ctx, fifo, with(func(o *FileOptions) { o.Form = form })); CodeOf(err) != EEXIST {
				return fmt.Errorf("a pipe: %v", err)
			}
		}
		return nil
	})
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
