package redset

import (
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync/atomic"

	"blobio/internal/base/cache"
	"blobio/internal/base/vfs"
)

// maxOpen is the maximum number of open files of one member.
const maxOpen = 32

// stretch is one file and its position in a logical file.
type stretch struct {
	name  string // path for vfs; "" if the file must not be accessed
	start int64  // offset in the logical file, in bytes
	size  int64  // in bytes
}

// logical presents a list of files as one file that is followed by endless zeros. It is safe for concurrent use, except
// close.
type logical struct {
	fs    vfs.FS
	parts []stretch
	write bool                       // the files are opened for writing
	open  *cache.Pool[int, vfs.File] // open files by part number

	closed atomic.Bool
}

func newLogical(fsys vfs.FS, write bool) *logical {
	return &logical{fs: fsys, write: write, open: cache.NewPool[int](vfs.Descriptors, maxOpen, func(f vfs.File) error {
		if err := f.Close(); write {
			return err
		}
		return nil
	})}
}

func (l *logical) size() int64 {
	if len(l.parts) == 0 {
		return 0
	}
	p := l.parts[len(l.parts)-1]
	return p.start + p.size
}

func (l *logical) add(name string, size int64) {
	l.parts = append(l.parts, stretch{name: name, start: l.size(), size: size})
}

// firstBeyond returns the index of the first part that ends after off.
func (l *logical) firstBeyond(off int64) int {
	return sort.Search(len(l.parts), func(i int) bool { return l.parts[i].start+l.parts[i].size > off })
}

// each calls f for the pieces of the range [off, off+n). A piece is [at, at+m) in part i, and [rel, rel+m) in the
// range.
func (l *logical) each(off, n int64, f func(i int, at, rel, m int64) error) error {
	end := off + n
	for i := l.firstBeyond(off); i < len(l.parts) && l.parts[i].start < end; i++ {
		p := &l.parts[i]
		if p.size == 0 {
			continue
		}
		lo, hi := max(off, p.start), min(end, p.start+p.size)
		if err := f(i, lo-p.start, lo-off, hi-lo); err != nil {
			return err
		}
	}
	return nil
}

// readAt fills b from offset off.
func (l *logical) readAt(b []byte, off int64) error {
	done := int64(0)
	err := l.each(off, int64(len(b)), func(i int, at, rel, m int64) error {
		f, err := l.acquire(i)
		if err != nil {
			return err
		}
		defer l.open.Put(i)
		done = rel + m
		return readFull(f, b[rel:rel+m], at)
	})
	clear(b[done:])
	return err
}

// writeAt writes b at offset off. It skips bytes after the end and bytes in parts that must not be accessed.
func (l *logical) writeAt(b []byte, off int64) error {
	return l.each(off, int64(len(b)), func(i int, at, rel, m int64) error {
		if l.parts[i].name == "" {
			return nil
		}
		f, err := l.acquire(i)
		if err != nil {
			return err
		}
		defer l.open.Put(i)
		_, err = f.WriteAt(b[rel:rel+m], at)
		return err
	})
}

func readFull(f vfs.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read of %s at byte %d: %w", f.Name(), off+int64(n), err)
}

// acquire returns the open file of part i. The caller must return it by open.Put.
func (l *logical) acquire(i int) (vfs.File, error) {
	if l.closed.Load() {
		return nil, fs.ErrClosed
	}
	return l.open.Get(i, func() (vfs.File, error) {
		if !l.write {
			return l.fs.Open(l.parts[i].name)
		}
		f, err := l.fs.OpenRW(l.parts[i].name)
		if err != nil {
			return nil, err
		}
		return &output{File: f}, nil
	})
}

// close closes all files.
func (l *logical) close() error {
	l.closed.Store(true)
	return l.open.Close()
}
