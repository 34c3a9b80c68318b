package redset

import (
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync"

	"blobio/internal/cache"
	"blobio/internal/vfs"
)

// maxOpen is how many files of one member are held open at once.
const maxOpen = 32

// stretch is one file of a logical file.
type stretch struct {
	name  string // as vfs wants it; "" for one that is not to be touched
	start int64  // in the logical file, bytes
	size  int64  // bytes
}

// logical is a list of files seen as one, and then zeros without end. It may be used
// by several goroutines at once, except for close.
type logical struct {
	fs      vfs.FS
	outside map[string]vfs.Outside // nil: names are those of fs
	parts   []stretch
	write   bool                       // parts are opened for writing
	open    *cache.Pool[int, vfs.File] // by part

	mu   sync.Mutex
	maps map[int]*view // by part; nil after close
}

func newLogical(fsys vfs.FS, write bool) *logical {
	return &logical{fs: fsys, write: write, maps: map[int]*view{}, open: cache.NewPool[int](vfs.Descriptors, maxOpen, func(f vfs.File) error {
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

// firstBeyond returns the first part that ends beyond off.
func (l *logical) firstBeyond(off int64) int {
	return sort.Search(len(l.parts), func(i int) bool { return l.parts[i].start+l.parts[i].size > off })
}

// each calls f for the pieces of parts in [off, off+n): piece [at, at+m) of part
// i is [rel, rel+m) of the range.
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

// readAt fills b from byte off on.
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

// writeAt writes b from byte off on, without what lies beyond the end or in parts
// that are not to be touched.
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

// view returns the view of the file that all of [off, off+n) is in, and where in it they begin; nil if they
// are not in one, or have to be read.
func (l *logical) view(off, n int64) (*view, int64) {
	i := l.firstBeyond(off)
	if i == len(l.parts) {
		return nil, 0
	}
	p := &l.parts[i]
	if off+n > p.start+p.size || p.size < minMap {
		return nil, 0
	}
	l.mu.Lock()
	v := l.maps[i]
	l.mu.Unlock()
	if v == nil {
		v = l.mapPart(i)
	}
	return v, off - p.start
}

// mapPart maps a part as a whole, or notes that it cannot be mapped.
func (l *logical) mapPart(i int) *view {
	v := &view{}
	if f, err := l.acquire(i); err == nil {
		v.m, _ = vfs.Map(f, 0, l.parts[i].size) // what is wrong with it a read will tell
		l.open.Put(i)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.maps[i]; w != nil || l.maps == nil { // another worker was faster
		v.close()
		return w
	}
	if len(l.maps) >= maxOpen {
		first := i
		for j := range l.maps {
			first = min(first, j)
		}
		if first == i {
			for first = range l.maps {
				break
			}
		}
		l.maps[first].close()
		delete(l.maps, first)
	}
	l.maps[i] = v
	return v
}

// drop gives back what is mapped of [off, off+n).
func (l *logical) drop(off, n int64) {
	_ = l.each(off, n, func(i int, at, _, m int64) error {
		l.mu.Lock()
		v := l.maps[i]
		l.mu.Unlock()
		if v != nil {
			v.drop(at, at+m)
		}
		return nil
	})
}

// acquire returns part i, open; open.Put must be called.
func (l *logical) acquire(i int) (vfs.File, error) {
	l.mu.Lock()
	closed := l.maps == nil
	l.mu.Unlock()
	if closed {
		return nil, fs.ErrClosed
	}
	return l.open.Get(i, func() (vfs.File, error) {
		f, err := l.openFile(l.parts[i].name)
		if err == nil && l.write {
			f = &output{File: f}
		}
		return f, err
	})
}

func (l *logical) openFile(name string) (vfs.File, error) {
	if l.outside != nil {
		f, ok := l.outside[name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return f.Open(l.write)
	}
	if l.write {
		return l.fs.OpenRW(name)
	}
	return l.fs.Open(name)
}

// try opens all parts that have names once.
func (l *logical) try() error {
	for i, p := range l.parts {
		if p.name == "" {
			continue
		}
		if _, err := l.acquire(i); err != nil {
			return err
		}
		l.open.Put(i)
	}
	return nil
}

// close closes all files.
func (l *logical) close() error {
	l.mu.Lock()
	for _, v := range l.maps {
		v.close()
	}
	l.maps = nil
	l.mu.Unlock()
	return l.open.Close()
}
