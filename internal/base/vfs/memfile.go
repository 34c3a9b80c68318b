package vfs

import (
	"io/fs"
	"math"
	"sync/atomic"
	"syscall"
)

// memFile is a handle to a file of a Mem.
type memFile struct {
	m      *Mem
	n      *node
	name   string
	write  bool
	closed atomic.Bool
}

func (f *memFile) Name() string { return f.name }

// check returns an error for a closed handle, a bad offset, or a write to a read-only handle.
func (f *memFile) check(op string, write bool, off, n int64) error {
	switch {
	case f.closed.Load():
		return perr(op, f.name, fs.ErrClosed)
	case write && !f.write:
		return perr(op, f.name, fs.ErrPermission)
	case off < 0 || n < 0 || off > math.MaxInt64-n:
		return perr(op, f.name, syscall.EINVAL)
	}
	return nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read", false, off, int64(len(b))); err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	f.n.file.mu.RLock()
	defer f.n.file.mu.RUnlock()
	return f.n.file.read(b, off)
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.WritevAt([][]byte{b}, off)
	return int(n), err
}

func (f *memFile) WritevAt(bufs [][]byte, off int64) (int64, error) {
	var size int64
	for _, b := range bufs {
		size += int64(len(b))
	}
	if err := f.check("write", true, off, size); err != nil {
		return 0, err
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	d := &f.n.file
	d.mu.Lock()
	defer d.mu.Unlock()
	var total int64
	for _, b := range bufs {
		n := d.write(b, off+total, f.m.reserve)
		total += int64(n)
		if n < len(b) {
			return total, perr("write", f.name, ErrNoSpace)
		}
	}
	f.n.touch()
	return total, nil
}

// reserve reserves one page of the capacity.
func (m *Mem) reserve() bool {
	n := m.pages.Add(1)
	if limit := m.limit.Load(); limit > 0 && n > limit {
		m.pages.Add(-1)
		return false
	}
	return true
}

func (f *memFile) Size() (int64, error) {
	if err := f.check("stat", false, 0, 0); err != nil {
		return 0, err
	}
	f.n.file.mu.RLock()
	defer f.n.file.mu.RUnlock()
	return f.n.file.size, nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.check("truncate", true, size, 0); err != nil {
		return err
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	f.n.file.mu.Lock()
	defer f.n.file.mu.Unlock()
	f.m.pages.Add(f.n.file.truncate(size))
	f.n.touch()
	return nil
}

// Allocate only checks that the capacity suffices. It reserves nothing.
func (f *memFile) Allocate(off, n int64) error {
	if err := f.check("allocate", true, off, n); err != nil {
		return err
	}
	if limit := f.m.limit.Load(); limit > 0 && n > 0 {
		f.n.file.mu.RLock()
		defer f.n.file.mu.RUnlock()
		free := limit - f.m.pages.Load()
		for i := off / pageSize; i <= (off+n-1)/pageSize; i++ {
			if f.n.file.page(i) == nil {
				if free--; free < 0 {
					return perr("allocate", f.name, ErrNoSpace)
				}
			}
		}
	}
	return nil
}

func (f *memFile) Sync() error {
	if err := f.check("sync", false, 0, 0); err != nil {
		return err
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	f.n.file.mu.Lock()
	defer f.n.file.mu.Unlock()
	f.n.file.sync()
	return nil
}

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return perr("close", f.name, fs.ErrClosed)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.opens--
	delete(f.n.locks, f)
	f.m.release(f.n)
	return nil
}
