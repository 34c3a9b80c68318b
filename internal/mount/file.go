//go:build linux && !386 && !arm

package mount

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"blobio/internal/tree"
	"blobio/internal/vfs"
)

// dataset is one state of a dataset: a file that never changes.
type dataset struct {
	fs.Inode
	m     *Mount
	path  string
	entry tree.Entry
}

var _ interface {
	fs.NodeGetattrer
	fs.NodeOpener
} = (*dataset)(nil)

// Getattr tells the attributes of this state: as long as it is in force with the permissions that its files have now.
func (d *dataset) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e, err := d.m.tree.Lookup(d.path)
	if err != nil || e.Kind != tree.KindDataset || e.ID != d.entry.ID {
		e = d.entry
	}
	attributes(&e, &out.Attr)
	return 0
}

// Open holds the state. If there is another one by now, or none, ESTALE has the kernel look the name up again.
func (d *dataset) Open(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, err := d.m.tree.Dataset(context.Background(), d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, unix.ESTALE
	}
	if err != nil {
		return nil, 0, d.m.errno("open", d.path, err)
	}
	if h.ID() != d.entry.ID {
		h.Release()
		return nil, 0, unix.ESTALE
	}
	if err := d.m.allow(ctx, h); err != nil {
		h.Release()
		return nil, 0, d.m.errno("open", d.path, err)
	}
	return &opened{d: d, held: h, bytes: h.Canonical()}, fuse.FOPEN_KEEP_CACHE, 0
}

// opened is an open dataset.
type opened struct {
	d     *dataset
	held  *tree.Dataset
	bytes interface {
		ReadAtContext(ctx context.Context, b []byte, off int64) (int, error)
	}
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*opened)(nil)

// Read answers whole or not at all: the kernel would take a short answer for the end of the file, or fill up with zeros. What it has read
// ahead and did not get it asks for again, page by page, so that a program meets the error only where it is. Signals do not end a read,
// since programs do not expect that of files; it ends by itself.
func (o *opened) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= o.d.entry.Size {
		return fuse.ReadResultData(nil), 0
	}
	b = b[:min(int64(len(b)), o.d.entry.Size-off)]
	if l, ok := o.bytes.(lender); ok {
		if p, back := l.Borrow(context.Background(), off, len(b)); p != nil {
			return &lent{fuse.ReadResultData(p), back}, 0
		}
	}
	if n, err := o.bytes.ReadAtContext(context.Background(), b, off); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		o.d.m.log.say("read %s from byte %d on: %v: %v", o.d.path, off+int64(n), unix.EIO, err)
		return nil, unix.EIO
	}
	return fuse.ReadResultData(b), 0
}

// lender is a blob.CanonicalFile.
type lender interface {
	Borrow(ctx context.Context, off int64, n int) (p []byte, back func())
}

// lent are bytes that are given back when the kernel has them.
type lent struct {
	fuse.ReadResult
	back func()
}

func (l *lent) Done() { l.back() }

// Release gives the dataset back.
func (o *opened) Release(context.Context) syscall.Errno {
	o.held.Release()
	return 0
}

// plain is a file that is passed through.
type plain struct {
	fs.Inode
	m    *Mount
	path string

	mu    sync.Mutex
	entry tree.Entry // as it was seen last
}

var _ interface {
	fs.NodeGetattrer
	fs.NodeOpener
} = (*plain)(nil)

// look returns the entry of the name, and whether it means this file yet.
func (p *plain) look() (tree.Entry, bool, error) {
	e, err := p.m.tree.Lookup(p.path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, os.ErrNotExist) || err == nil && e.File != p.entry.File {
		return p.entry, false, nil
	}
	if err == nil {
		p.entry = e
	}
	return e, true, err
}

// Getattr tells what the file is now, or was when it had its name.
func (p *plain) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e, _, err := p.look()
	if err != nil {
		return p.m.errno("look up", p.path, err)
	}
	attributes(&e, &out.Attr)
	return 0
}

// Open opens the file, if it has its name yet.
func (p *plain) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	_, same, err := p.look()
	if err == nil && !same {
		return nil, 0, unix.ESTALE
	}
	var f vfs.File
	if err == nil {
		f, err = p.m.tree.File(p.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, unix.ESTALE
	}
	if err != nil {
		return nil, 0, p.m.errno("open", p.path, err)
	}
	return &passed{p: p, file: f}, 0, 0
}

// passed is an open file.
type passed struct {
	p    *plain
	file vfs.File
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*passed)(nil)

// Read reads what is there.
func (f *passed) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.file.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.p.m.errno("read", f.p.path, err)
	}
	return fuse.ReadResultData(b[:n]), 0
}

// Release closes it.
func (f *passed) Release(context.Context) syscall.Errno {
	if err := f.file.Close(); err != nil {
		return f.p.m.errno("close", f.p.path, err)
	}
	return 0
}
