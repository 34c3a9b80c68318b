//go:build !linux

package vfs

import (
	"errors"
)

func (f *osFile) allocate(off, n int64) error { return nil }
func (f *osFile) inMemory() bool              { return false }

func (f *osFile) sync() error { return f.File.Sync() }

func exchange(_, _ string) error { return errors.ErrUnsupported }

func uninterrupted(call func()) { call() }
