package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// batch is shared by the jobs of one call. A container stays open as long as a job needs it, and is synced once. Each folder is
// synced once for all new names in it.
type batch struct {
	e     *Engine
	climb bool   // also sync the parent folders, each once
	owner string // owner of temporary files; "" if other processes may use the same owner
	mu    sync.Mutex
	files map[string]*container
	dirs  map[string]bool
}

// container is a file in which segments are written. The mutex guards opening.
type container struct {
	mu   sync.Mutex
	f    vfs.File
	jobs int // number of jobs that have not released the container
}

func (e *Engine) newBatch(jobs []Job) *batch {
	b := &batch{e: e, files: map[string]*container{}, dirs: map[string]bool{}}
	for i := range jobs {
		for name := range containersOf(&jobs[i]) {
			c := b.files[name]
			if c == nil {
				c = &container{}
				b.files[name] = c
			}
			c.jobs++
		}
	}
	return b
}

func containersOf(j *Job) map[string]bool {
	if len(j.Out) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, s := range j.Out {
		names[s.File] = true
	}
	return names
}

// file returns a container and creates it if it is missing.
func (b *batch) file(name string) (vfs.File, error) {
	b.mu.Lock()
	c := b.files[name]
	b.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.f != nil {
		return c.f, nil
	}
	fsys := b.e.o.DstFS
	for try := 0; ; try++ {
		f, err := fsys.OpenRW(name)
		if errors.Is(err, fs.ErrNotExist) {
			if f, err = fsys.Create(name); err == nil {
				b.named(name)
			}
		}
		switch {
		case err == nil:
			c.f = f
			return f, nil
		case try == 3:
			return nil, err
		case errors.Is(err, fs.ErrNotExist):
			if err := durable.MkdirAll(fsys, filepath.Dir(name), b.e.o.Sync); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// release ends the use of a job's containers. Each job calls it once, when it ends. The last job that uses a container syncs
// and closes it.
func (b *batch) release(j *Job) error {
	var errs []error
	for name := range containersOf(j) {
		b.mu.Lock()
		c := b.files[name]
		c.jobs--
		last := c.jobs == 0
		b.mu.Unlock()
		if !last || c.f == nil {
			continue
		}
		if b.e.o.Sync {
			errs = append(errs, c.f.Sync())
		}
		errs = append(errs, c.f.Close())
		c.f = nil
	}
	return errors.Join(errs...)
}

// named records that a folder has a new entry.
func (b *batch) named(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs[filepath.Dir(name)] = true
}

// finish syncs folders to make new names durable. It also syncs folders that may not be durable themselves, because a killed
// process may have left them unsynced.
func (b *batch) finish() error {
	e := b.e
	if !e.o.Sync {
		return nil
	}
	for dir := range b.dirs {
		if err := e.o.DstFS.SyncDir(dir); err != nil {
			return err
		}
		if !b.climb {
			continue
		}
		for up := filepath.Dir(dir); e.durable.add(dir) && up != dir; dir, up = up, filepath.Dir(up) {
			// A user who cannot read a folder cannot have created it.
			if err := e.o.DstFS.SyncDir(up); err != nil && !errors.Is(err, fs.ErrPermission) {
				e.durable.remove(dir)
				return err
			}
		}
	}
	return nil
}

type names struct {
	mu sync.Mutex
	m  map[string]bool
}

// add adds a name and reports whether it is new.
func (n *names) add(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m[name] {
		return false
	}
	if n.m == nil {
		n.m = map[string]bool{}
	}
	n.m[name] = true
	return true
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.m, name)
}

type sink interface {
	io.Writer
	// commit is called after all data are written. It gives them their final name.
	commit() error
	// abort is called after a failure, in place of commit.
	abort()
}

func (b *batch) openSink(j *Job) (sink, error) {
	if j.Out != nil {
		return &segments{b: b, rest: j.Out}, nil
	}
	f, err := b.createTemp(j)
	if err != nil {
		return nil, err
	}
	return &tempFile{b: b, j: j, f: f}, nil
}

// tempFile is a file that gets its final name when it is whole.
type tempFile struct {
	b    *batch
	j    *Job
	f    *durable.Temp
	size int64
}

// Write implements io.Writer.
func (t *tempFile) Write(p []byte) (int, error) {
	n, err := t.f.WriteAt(p, t.size)
	t.size += int64(n)
	return n, err
}

func (t *tempFile) commit() error {
	if err := t.meta(t.f.Name()); err != nil {
		t.f.Discard()
		return err
	}
	if err := t.f.Commit(); err != nil {
		return err
	}
	t.b.named(t.j.Dst)
	return nil
}

// meta copies the source's metadata to the file. The file gets no more permissions than an ordinary new file.
func (t *tempFile) meta(name string) error {
	if !t.j.Meta || t.j.In != nil {
		return nil
	}
	return vfs.CopyMeta(t.b.e.o.FS, t.j.Src, t.b.e.o.DstFS, name)
}

func (t *tempFile) abort() { t.f.Discard() }

// segments writes data in place to ranges of containers.
type segments struct {
	b    *batch
	rest []Segment
	done int64 // number of bytes of rest[0] that are already written
}

// Write implements io.Writer.
func (s *segments) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		for len(s.rest) > 0 && s.done == s.rest[0].Length {
			s.rest, s.done = s.rest[1:], 0
		}
		if len(s.rest) == 0 {
			return total, fmt.Errorf("%w: the data are longer than their segments", fault.ErrCorrupt)
		}
		seg := s.rest[0]
		f, err := s.b.file(seg.File)
		if err != nil {
			return total, err
		}
		n, err := f.WriteAt(p[:min(int64(len(p)), seg.Length-s.done)], seg.Offset+s.done)
		total += n
		s.done += int64(n)
		p = p[n:]
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *segments) commit() error { return nil }

func (s *segments) abort() {}

// createTemp creates the temporary file of a job. It creates the folder if it is missing. In a batch with an owner, createTemp
// replaces a temporary file that the same owner left when it was killed. The file gets at most the permissions of its source
// and of the file that it replaces.
func (b *batch) createTemp(j *Job) (*durable.Temp, error) {
	e := b.e
	perm := fs.FileMode(0o666)
	if j.In == nil {
		st, err := e.o.FS.Stat(j.Src)
		if err != nil {
			return nil, err
		}
		perm = st.Mode().Perm() | 0o600
	}
	switch st, err := vfs.Lstat(e.o.DstFS, j.Dst); {
	case err == nil && st.Mode().IsRegular():
		perm &= st.Mode().Perm() | 0o600
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return durable.CreateTemp(e.o.DstFS, j.Dst, durable.TempOptions{Owner: b.owner, Perm: perm, Mkdir: true, Sync: e.o.Sync})
}
