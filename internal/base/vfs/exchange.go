package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ExchangeFS is an optional interface of an FS that can exchange two names of one directory. Mem implements it, and OS on Linux.
// The wrappers of this package implement it if the underlying file system does.
type ExchangeFS interface {
	Exchange(a, b string) error
}

// Exchange exchanges two existing names in one step. After a crash, either both names have their old files or both have their new
// files. So Exchange can replace a directory that is not empty. The error is errors.ErrUnsupported if the file system cannot
// exchange names.
func Exchange(fsys FS, a, b string) error {
	err := errors.ErrUnsupported
	if x, ok := OrOS(fsys).(ExchangeFS); ok {
		err = x.Exchange(a, b)
	}
	// A file system that does not support the flag returns EINVAL.
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	return err
}

// Exchange implements ExchangeFS.
func (osFS) Exchange(a, b string) error { return exchange(a, b) }

// Exchange implements ExchangeFS, for names of one directory.
func (m *Mem) Exchange(a, b string) error {
	if filepath.Dir(a) != filepath.Dir(b) {
		return errors.ErrUnsupported
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, abase, err := m.parent(a)
	if err != nil {
		return err
	}
	_, bbase, err := m.parent(b)
	if err != nil {
		return err
	}
	x, y := dir.entries[abase], dir.entries[bbase]
	if x == nil || y == nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: os.ErrNotExist}
	}
	dir.change(dirOp{name: bbase, n: x, old: abase, swap: y})
	return nil
}

// Exchange implements ExchangeFS.
func (f *faultFS) Exchange(a, b string) error {
	return f.do(Op{Kind: OpRename, Name: a, New: b}, func() error { return Exchange(f.under, a, b) })
}

// Exchange implements ExchangeFS.
func (b *BindFS) Exchange(x, y string) error { return Exchange(b.under, b.Real(x), b.Real(y)) }

// Exchange implements ExchangeFS.
func (n *noSyncFS) Exchange(a, b string) error { return Exchange(n.FS, a, b) }
