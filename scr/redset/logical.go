package redset

import (
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync"

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
	fs    vfs.FS
	parts []stretch
	write bool // parts are opened for writing

	mu   sync.Mutex
	open map[int]*handle // nil after close
	maps map[int]*view   // by part
}

type handle struct {
	f    vfs.File
	refs int
}

func newLogical(fsys vfs.FS, write bool) *logical {
	return &logical{fs: fsys, write: write, open: map[int]*handle{}, maps: map[int]*view{}}
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
		h, err := l.acquire(i)
		if err != nil {
			return err
		}
		defer l.release(h)
		done = rel + m
		return readFull(h.f, b[rel:rel+m], at)
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
		h, err := l.acquire(i)
		if err != nil {
			return err
		}
		defer l.release(h)
		_, err = h.f.WriteAt(b[rel:rel+m], at)
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
	if h, err := l.acquire(i); err == nil {
		v.m, _ = vfs.Map(h.f, 0, l.parts[i].size) // what is wrong with it a read will tell
		l.release(h)
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

// acquire returns an open handle of part i, for release.
func (l *logical) acquire(i int) (*handle, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil, fs.ErrClosed
	}
	if h := l.open[i]; h != nil {
		h.refs++
		return h, nil
	}
	for j, h := range l.open {
		if len(l.open) < maxOpen {
			break
		}
		if h.refs == 0 {
			delete(l.open, j)
			if err := h.f.Close(); err != nil && l.write {
				return nil, err
			}
		}
	}
	open := l.fs.Open
	if l.write {
		open = l.fs.OpenRW
	}
	f, err := open(l.parts[i].name)
	if err != nil {
		return nil, err
	}
	if l.write {
		f = &output{File: f}
	}
	h := &handle{f: f, refs: 1}
	l.open[i] = h
	return h, nil
}

// try opens all parts that have names once.
func (l *logical) try() error {
	for i, p := range l.parts {
		if p.name == "" {
			continue
		}
		h, err := l.acquire(i)
		if err != nil {
			return err
		}
		l.release(h)
	}
	return nil
}

func (l *logical) release(h *handle) {
	l.mu.Lock()
	h.refs--
	l.mu.Unlock()
}

// close releases all handles.
func (l *logical) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first error
	for _, h := range l.open {
		if err := h.f.Close(); first == nil && l.write {
			first = err
		}
	}
	for _, v := range l.maps {
		v.close()
	}
	l.open, l.maps = nil, nil
	return first
}
