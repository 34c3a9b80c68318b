package scr

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"blobio/internal/vfs"
	"blobio/scr/cachedir"
)

// packFS is the file system of a node in which the small metadata files of packed datasets are in memory only: to those
// who read and write them they look as in the layout of the reference. Between the calls of the session they stand in
// one file of the node (cachedir.Packed), which pack writes and unpack reads. Redundancy with payload is on the disk.
type packFS struct {
	vfs.FS
	mu   sync.Mutex
	dirs map[string]*vfs.Mem // by MetaDir of packed datasets
}

func newPackFS(under vfs.FS) *packFS { return &packFS{FS: under, dirs: map[string]*vfs.Mem{}} }

// add makes the metadata of a dataset folder packed, empty at first.
func (p *packFS) add(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if meta := cachedir.MetaDir(dir); p.dirs[meta] == nil {
		p.dirs[meta] = vfs.NewMem()
	}
}

// forget drops what is in memory of a dataset folder.
func (p *packFS) forget(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.dirs, cachedir.MetaDir(dir))
}

// onDisk are the names in the metadata folder that stay there: redundancy with payload, under its own name or one of
// the time before, the file of the node itself, and what keeps names.
var onDisk = regexp.MustCompile(`reddesc\.er\.\d+\.(partner|xor|rs)\.grp_|^node\.scrinfo|^name\.`)

// at returns where a name is: the file system and the name in it.
func (p *packFS) at(name string) (vfs.FS, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dirs) == 0 {
		return p.FS, name
	}
	if m := p.dirs[path.Dir(name)]; m != nil && !onDisk.MatchString(path.Base(name)) {
		return m, path.Join("/", path.Base(name))
	}
	return p.FS, name
}

func (p *packFS) mem(dir string) *vfs.Mem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dirs[dir]
}

// Create implements vfs.FS.
func (p *packFS) Create(name string) (vfs.File, error) { f, n := p.at(name); return f.Create(n) }

// Open implements vfs.FS.
func (p *packFS) Open(name string) (vfs.File, error) { f, n := p.at(name); return f.Open(n) }

// OpenRW implements vfs.FS.
func (p *packFS) OpenRW(name string) (vfs.File, error) { f, n := p.at(name); return f.OpenRW(n) }

// Remove implements vfs.FS.
func (p *packFS) Remove(name string) error { f, n := p.at(name); return f.Remove(n) }

// Stat implements vfs.FS.
func (p *packFS) Stat(name string) (fs.FileInfo, error) { f, n := p.at(name); return f.Stat(n) }

// FileMeta implements vfs.MetaFS.
func (p *packFS) FileMeta(name string) (vfs.Meta, error) { f, n := p.at(name); return vfs.MetaOf(f, n) }

// SetFileMeta implements vfs.MetaFS.
func (p *packFS) SetFileMeta(name string, m vfs.Meta) error {
	f, n := p.at(name)
	return vfs.SetMeta(f, n, m)
}

// Rename implements vfs.FS. Both names are on the same side, for a temporary name holds the final one.
func (p *packFS) Rename(oldname, newname string) error {
	a, from := p.at(oldname)
	b, to := p.at(newname)
	if a != b {
		return &fs.PathError{Op: "rename", Path: oldname, Err: fs.ErrInvalid}
	}
	return a.Rename(from, to)
}

// ReadDir implements vfs.FS.
func (p *packFS) ReadDir(name string) ([]fs.DirEntry, error) {
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
