package subfile

import (
	"container/list"
	"errors"
	"sync"

	"blobio/internal/vfs"
)

// defaultMaxOpen is how many files a Pool keeps open when it is not told.
const defaultMaxOpen = 256

// A Pool holds open files under a cap. A file that nobody uses is closed when
// the cap is reached and opened again when it is needed. Files in use may
// exceed the cap: it bounds what is kept, not what is asked at one instant.
// It is safe for concurrent use.
type Pool struct {
	fsys vfs.FS
	max  int

	closed bool // under mu
	mu     sync.Mutex
	files  map[string]*pooled
	idle   *list.List // of *pooled, least recently used first
}

type pooled struct {
	name  string
	write bool
	file  vfs.File
	err   error
	ready chan struct{} // closed when file or err is set
	uses  int
	elem  *list.Element // in idle, or nil
}

// NewPool returns a pool that keeps at most max files open; 0 means 256.
func NewPool(fsys vfs.FS, max int) *Pool {
	fsys = vfs.OrOS(fsys)
	if max <= 0 {
		max = defaultMaxOpen
	}
	return &Pool{fsys: fsys, max: max, files: map[string]*pooled{}, idle: list.New()}
}

// FS returns the file system of the pool.
func (p *Pool) FS() vfs.FS { return p.fsys }

// Get returns the open file; Put must be called once for it. write opens for
// reading and writing; a pool must not mix both for one name.
func (p *Pool) Get(name string, write bool) (vfs.File, error) {
	p.mu.Lock()
	e := p.files[name]
	if e == nil {
		e = &pooled{name: name, write: write, ready: make(chan struct{}), uses: 1}
		p.files[name] = e
		evicted := p.evict()
		p.mu.Unlock()
		err := closeAll(evicted)
		if err == nil {
			if write {
				e.file, e.err = p.fsys.OpenRW(name)
			} else {
				e.file, e.err = p.fsys.Open(name)
			}
		} else {
			e.err = err
		}
		close(e.ready)
	} else {
		e.uses++
		if e.elem != nil {
			p.idle.Remove(e.elem)
			e.elem = nil
		}
		p.mu.Unlock()
		<-e.ready
	}
	if e.err != nil {
		err := e.err
		p.mu.Lock()
		e.uses--
		if p.files[name] == e {
			delete(p.files, name) // the next Get tries again
		}
		p.mu.Unlock()
		return nil, err
	}
	return e.file, nil
}

// Keep takes over a file that is open for reading and writing, and has a name that the pool does not hold. Nobody uses it yet.
func (p *Pool) Keep(name string, f vfs.File) error {
	e := &pooled{name: name, write: true, file: f, ready: make(chan struct{})}
	close(e.ready)
	p.mu.Lock()
	p.files[name] = e
	e.elem = p.idle.PushBack(e)
	evicted := p.evict()
	p.mu.Unlock()
	return closeAll(evicted)
}

// Put gives back one use of the file.
func (p *Pool) Put(name string) {
	p.mu.Lock()
	e := p.files[name]
	var last *pooled
	if e != nil {
		if e.uses--; e.uses == 0 && p.closed {
			delete(p.files, name)
			last = e
		} else if e.uses == 0 {
			e.elem = p.idle.PushBack(e)
		}
	}
	p.mu.Unlock()
	if last != nil {
		_ = last.file.Close() // after Close: the work that used it had failed or was given up
	}
}

// evict takes idle files out of the pool until it is within its cap. p.mu is held.
func (p *Pool) evict() (out []*pooled) {
	for len(p.files) > p.max && p.idle.Len() > 0 {
		e := p.idle.Remove(p.idle.Front()).(*pooled)
		e.elem = nil
		delete(p.files, e.name)
		out = append(out, e)
	}
	return out
}

func closeAll(es []*pooled) error {
	var errs []error
	for _, e := range es {
		errs = append(errs, e.file.Close())
	}
	return errors.Join(errs...)
}

// CloseFile closes one idle file, if it is open. It is needed before a rename
// on systems that do not rename open files.
func (p *Pool) CloseFile(name string) error {
	p.mu.Lock()
	e := p.files[name]
	if e == nil || e.uses > 0 {
		p.mu.Unlock()
		return nil
	}
	p.idle.Remove(e.elem)
	delete(p.files, name)
	p.mu.Unlock()
	return e.file.Close()
}

// Close closes all files. One that is still in use, by a rank that has not
// heard yet that another failed, is closed when it is given back.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for name, e := range p.files {
		if e.uses > 0 {
			continue
		}
		errs = append(errs, e.file.Close())
		delete(p.files, name)
	}
	p.idle.Init()
	return errors.Join(errs...)
}
