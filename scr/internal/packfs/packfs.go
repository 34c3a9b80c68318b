// Package packfs keeps the small metadata files of packed datasets in memory.
package packfs

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"blobio/internal/durable"
	"blobio/internal/scr/cachedir"
	"blobio/internal/vfs"
)

// FS is the file system of a node in which the small metadata files of packed datasets are in memory only: to those
// who read and write them they look as in the layout of the reference. Between the calls of the session they stand in
// one file of the node (cachedir.Packed), which package scr writes and reads. Redundancy with payload is on the disk.
type FS struct {
	vfs.FS
	mu    sync.Mutex
	dirs  map[string]*vfs.Mem // by MetaDir of packed datasets
	temps map[string]string   // of temporary files the names that they get
}

// New returns a file system without packed datasets.
func New(under vfs.FS) *FS {
	return &FS{FS: under, dirs: map[string]*vfs.Mem{}, temps: map[string]string{}}
}

// Add makes the metadata of a dataset folder packed, empty at first.
func (p *FS) Add(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if meta := cachedir.MetaDir(dir); p.dirs[meta] == nil {
		p.dirs[meta] = vfs.NewMem()
	}
}

// Forget drops what is in memory of a dataset folder.
func (p *FS) Forget(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	meta := cachedir.MetaDir(dir)
	delete(p.dirs, meta)
	maps.DeleteFunc(p.temps, func(temp, _ string) bool { return path.Dir(temp) == meta })
}

// WillBe implements vfs.TempFS.
func (p *FS) WillBe(temp, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dirs[path.Dir(name)] != nil {
		p.temps[temp] = name
	}
}

// done forgets a temporary file that is gone.
func (p *FS) done(temp string, err error) error {
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.temps, temp)
	}
	return err
}

// onDisk matches the names in the metadata folder that stay there: redundancy with payload, the file of the node itself, and
// what keeps names. So are temporary files of which nothing is known: those that a run left that was killed.
var onDisk = regexp.MustCompile(`reddesc\.er\.\d+\.(partner|xor|rs)\.grp_|^node\.scrinfo|^name\.`)

// OnDisk says whether a file of the metadata folder stays on the disk, by its base name.
func OnDisk(base string) bool { return onDisk.MatchString(base) }

// resolve returns where a name is: the file system and the name in it.
func (p *FS) resolve(name string) (vfs.FS, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dirs) == 0 {
		return p.FS, name
	}
	m, final := p.dirs[path.Dir(name)], name
	if durable.IsTemp(name) {
		final = p.temps[name]
	}
	if m == nil || final == "" || onDisk.MatchString(path.Base(final)) {
		return p.FS, name
	}
	return m, path.Join("/", path.Base(name))
}

// Under implements vfs.ViewFS.
func (p *FS) Under(name string) (vfs.FS, string) { return p.resolve(name) }

func (p *FS) mem(dir string) *vfs.Mem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dirs[dir]
}

// Create implements vfs.FS.
func (p *FS) Create(name string) (vfs.File, error) { f, n := p.resolve(name); return f.Create(n) }

// Open implements vfs.FS.
func (p *FS) Open(name string) (vfs.File, error) { f, n := p.resolve(name); return f.Open(n) }

// OpenRW implements vfs.FS.
func (p *FS) OpenRW(name string) (vfs.File, error) { f, n := p.resolve(name); return f.OpenRW(n) }

// Remove implements vfs.FS.
func (p *FS) Remove(name string) error { f, n := p.resolve(name); return p.done(name, f.Remove(n)) }

// Stat implements vfs.FS.
func (p *FS) Stat(name string) (fs.FileInfo, error) { f, n := p.resolve(name); return f.Stat(n) }

// FileMeta implements vfs.MetaFS.
func (p *FS) FileMeta(name string) (vfs.Meta, error) {
	f, n := p.resolve(name)
	return vfs.MetaOf(f, n)
}

// SetFileMeta implements vfs.MetaFS.
func (p *FS) SetFileMeta(name string, m vfs.Meta) error {
	f, n := p.resolve(name)
	return vfs.SetMeta(f, n, m)
}

// Rename implements vfs.FS. Both names are on the same side: a temporary file is where it will be under its name.
func (p *FS) Rename(oldname, newname string) error {
	a, from := p.resolve(oldname)
	b, to := p.resolve(newname)
	if a != b {
		return &fs.PathError{Op: "rename", Path: oldname, Err: fs.ErrInvalid}
	}
	return p.done(oldname, a.Rename(from, to))
}

// ReadDir implements vfs.FS.
func (p *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := p.FS.ReadDir(name)
	m := p.mem(path.Clean(name))
	if m == nil {
		return list, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	more, err := m.ReadDir("/")
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}
