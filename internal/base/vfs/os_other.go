//go:build !linux

package vfs

func (f *osFile) allocate(off, n int64) error { return nil }

func (f *osFile) sync() error { return f.File.Sync() }
