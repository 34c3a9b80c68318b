package vfs

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Mem is a file system in memory that records its durable state; see CrashClone. Holes use no memory. A page (4 KiB) written
// since the last Sync is stored twice.
type Mem struct {
	// mu guards the tree. Changes of file contents hold it for reading. CrashClone holds it for writing, so that it sees all
	// files at one moment.
	mu    sync.RWMutex
	root  *node
	pages atomic.Int64 // number of pages in use
	limit atomic.Int64 // capacity in pages; 0: no limit
}

// node is a directory or a file.
type node struct {
	dir     bool
	mtime   atomic.Int64         // unix nanoseconds
	meta    atomic.Pointer[Meta] // set by SetFileMeta; nil: not set
	entries map[string]*node
	durable map[string]*node // entries after a power loss now
	log     []dirOp          // changes since durable, in order
	file    memData

	// A file frees its pages when its last name and its last handle are gone.
	opens    int
	unlinked bool
	locks    map[*memFile]bool // locks by open file; true: exclusive
}

// dirOp is an unsynced change of a directory: name now refers to n. If old is set, the change is a rename in the directory,
// and old is removed or gets swap. After a crash, either both changes or neither of them is in force.
type dirOp struct {
	name string
	n    *node // nil: name is removed
	old  string
	swap *node // set for an exchange
}

func (op dirOp) apply(e map[string]*node) {
	if op.n == nil {
		delete(e, op.name)
		return
	}
	if op.old != "" {
		delete(e, op.old)
	}
	if op.swap != nil {
		e[op.old] = op.swap
	}
	e[op.name] = op.n
}

func newDir() *node {
	n := &node{dir: true, entries: map[string]*node{}, durable: map[string]*node{}}
	n.touch()
	return n
}

func (n *node) touch() { n.mtime.Store(time.Now().UnixNano()) }

func (n *node) change(op dirOp) {
	op.apply(n.entries)
	n.log = append(n.log, op)
	n.touch()
}

// NewMem returns an empty file system with only the root directory.
func NewMem() *Mem { return &Mem{root: newDir()} }

// SetCapacity makes writes fail with ErrNoSpace when the files have this many bytes, rounded up to pages of 4 KiB. Holes and
// copies for crashes do not count. 0 means no limit.
func (m *Mem) SetCapacity(bytes int64) { m.limit.Store((bytes + pageSize - 1) / pageSize) }

// Used returns the bytes in use, in whole pages.
func (m *Mem) Used() int64 { return m.pages.Load() * pageSize }

// split cleans a name and returns its path elements; the root has none.
func split(name string) []string {
	name = path.Clean("/" + strings.ReplaceAll(name, string(os.PathSeparator), "/"))
	if name == "/" {
		return nil
	}
	return strings.Split(name[1:], "/")
}

func perr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// walk returns the node of a path. mu is held.
func (m *Mem) walk(elems []string) (*node, error) {
	n := m.root
	for _, e := range elems {
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		next := n.entries[e]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent returns the directory of a name, which need not exist. mu is held.
func (m *Mem) parent(name string) (dir *node, base string, err error) {
	elems := split(name)
	if len(elems) == 0 {
		return nil, "", fs.ErrInvalid
	}
	dir, err = m.walk(elems[:len(elems)-1])
	if err == nil && !dir.dir {
		err = syscall.ENOTDIR
	}
	return dir, elems[len(elems)-1], err
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, perr("create", name, err)
	}
	if dir.entries[base] != nil {
		return nil, perr("create", name, fs.ErrExist)
	}
	n := &node{}
	n.touch()
	dir.change(dirOp{name: base, n: n})
	return m.handle(n, name, true), nil
}

// handle opens a file. mu is held for writing.
func (m *Mem) handle(n *node, name string, write bool) File {
	n.opens++
	return &memFile{m: m, n: n, name: name, write: write}
}

// release frees the space of a file without names and handles. mu is held for writing.
func (m *Mem) release(n *node) {
	if n != nil && !n.dir && n.unlinked && n.opens == 0 {
		m.pages.Add(-n.file.count())
	}
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// OpenRW implements FS.
func (m *Mem) OpenRW(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, write bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(name))
	if err == nil && n.dir {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, perr("open", name, err)
	}
	return m.handle(n, name, write), nil
}

// Rename implements FS.
func (m *Mem) Rename(oldname, newname string) error {
	fail := func(err error) error {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from, obase, err := m.parent(oldname)
	if err != nil {
		return fail(err)
	}
	to, nbase, err := m.parent(newname)
	if err != nil {
		return fail(err)
	}
	n, target := from.entries[obase], to.entries[nbase]
	switch {
	case n == nil:
		return fail(fs.ErrNotExist)
	case n == target:
		return nil
	case n.dir && strings.HasPrefix(strings.Join(split(newname), "/")+"/", strings.Join(split(oldname), "/")+"/"):
		return fail(fs.ErrInvalid) // a directory into itself
	case target != nil && target.dir && !n.dir:
		return fail(syscall.EISDIR)
	case target != nil && !target.dir && n.dir:
		return fail(syscall.ENOTDIR)
	case target != nil && target.dir && len(target.entries) > 0:
		return fail(syscall.ENOTEMPTY)
	}
	if target != nil {
		target.unlinked = true
		m.release(target)
	}
	if from == to {
		from.change(dirOp{name: nbase, n: n, old: obase})
		return nil
	}
	to.change(dirOp{name: nbase, n: n})
	from.change(dirOp{name: obase})
	return nil
}

// Remove implements FS. A file that is still open stays usable by its handles.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil {
		return perr("remove", name, err)
	}
	n := dir.entries[base]
	if n == nil {
		return perr("remove", name, fs.ErrNotExist)
	}
	if n.dir && len(n.entries) > 0 {
		return perr("remove", name, syscall.ENOTEMPTY)
	}
	dir.change(dirOp{name: base})
	n.unlinked = true
	m.release(n)
	return nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.walk(split(name))
	if err != nil {
		return nil, perr("stat", name, err)
	}
	base := "/"
	if e := split(name); len(e) > 0 {
		base = e[len(e)-1]
	}
	return n.info(base), nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.walk(split(name))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, perr("readdir", name, err)
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for _, e := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, fs.FileInfoToDirEntry(n.entries[e].info(e)))
	}
	return list, nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mkdir(name)
}

func (m *Mem) mkdir(name string) error {
	dir, base, err := m.parent(name)
	if err == nil && dir.entries[base] != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return perr("mkdir", name, err)
	}
	dir.change(dirOp{name: base, n: newDir()})
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	elems := split(name)
	for i := range elems {
		n, err := m.walk(elems[:i+1])
		if err == nil && !n.dir {
			err = syscall.ENOTDIR
		}
		switch err {
		case nil:
		case fs.ErrNotExist:
			if err := m.mkdir(strings.Join(elems[:i+1], "/")); err != nil {
				return err
			}
		default:
			return perr("mkdir", name, err)
		}
	}
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(name))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return perr("syncdir", name, err)
	}
	n.durable, n.log = maps.Clone(n.entries), nil
	return nil
}

func (n *node) info(base string) fs.FileInfo {
	i := memInfo{name: base, dir: n.dir, mtime: time.Unix(0, n.mtime.Load()), meta: n.meta.Load()}
	if !n.dir {
		n.file.mu.RLock()
		i.size = n.file.size
		n.file.mu.RUnlock()
	}
	return i
}

// memInfo is a fs.FileInfo.
type memInfo struct {
	name  string
	size  int64
	dir   bool
	mtime time.Time
	meta  *Meta
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.mtime }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o777
	}
	return 0o666
}

// Sys returns the *Meta of SetFileMeta, or nil.
func (i memInfo) Sys() any {
	if i.meta == nil {
		return nil
	}
	return i.meta
}
