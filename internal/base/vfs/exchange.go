package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ExchangeFS is an optional interface of an FS that can exchange two names of one directory. OS implements it on Linux, Mem
// does, and so do the wrappers of this package if the file system under them does.
type ExchangeFS interface {
	Exchange(a, b string) error
}

// Exchange lets two names that are both there change places in one step: after a crash both have the old files, or both
// the new. A directory that is not empty is replaced so. If the file system cannot do it, the error is errors.ErrUnsupported.
func Exchange(fsys FS, a, b string) error {
	err := errors.ErrUnsupported
	if x, ok := OrOS(fsys).(ExchangeFS); ok {
		err = x.Exchange(a, b)
	}
	// A file system that does not know the flag says that it is not valid.
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
