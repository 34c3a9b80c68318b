//go:build !linux || 386 || arm

package mount

import (
	"context"
	"fmt"
	"runtime"
)

// A Mount is a mounted directory.
type Mount struct{}

// New returns ErrUnavailable: this system cannot mount.
func New(dir, at string, o *Options) (*Mount, error) {
	return nil, fmt.Errorf("%s/%s, want 64-bit Linux with FUSE: %w", runtime.GOOS, runtime.GOARCH, ErrUnavailable)
}

// Wait returns at once.
func (m *Mount) Wait() {}

// Unmount does nothing.
func (m *Mount) Unmount(context.Context) error { return nil }
