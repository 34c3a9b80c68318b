package vfs

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bind says that the directory To of a file system is seen as At.
type Bind struct {
	At string // the name that is used
	To string // where it really is; it need not exist
}

// BindFS is a file system in which some directories have other names: the directory that
// a node sees as its own lies somewhere else.
type BindFS struct {
	under FS
	binds []Bind // longest At first
}

// NewBind returns a view of under: a name that is At of a bind, or below it, is the same
// name in its To; of several such binds the one with the longest At counts. "." as At stands for all relative names. Other names
// pass unchanged, and so do the results: names are replaced once only. "" as At is
// ignored. A directory that holds an At does not list it. Errors carry the names of under.
func NewBind(under FS, binds []Bind) *BindFS {
	b := &BindFS{under: under}
	for _, x := range binds {
		if x.At != "" {
			b.binds = append(b.binds, Bind{slashed(x.At), x.To})
		}
	}
	slices.SortStableFunc(b.binds, func(x, y Bind) int { return cmp.Compare(len(y.At), len(x.At)) })
	return b
}

// slashed is a name in one spelling, to compare it with others.
func slashed(name string) string { return path.Clean(filepath.ToSlash(name)) }

// Real returns the name in the file system below that a name stands for.
func (b *BindFS) Real(name string) string {
	s := slashed(name)
	for _, x := range b.binds {
		if x.At == "." && !filepath.IsAbs(name) && !path.IsAbs(s) {
			return filepath.Join(x.To, filepath.FromSlash(s))
		}
		rest, ok := strings.CutPrefix(s, x.At)
		if !ok || rest != "" && rest[0] != '/' && !strings.HasSuffix(x.At, "/") {
			continue
		}
		if rest == "" {
			return x.To
		}
		return filepath.Join(x.To, filepath.FromSlash(rest))
	}
	return name
}

func (b *BindFS) file(name string, open func(string) (File, error)) (File, error) {
	real := b.Real(name)
	f, err := open(real)
	if err != nil || real == name {
		return f, err
	}
	if s, ok := f.(sysFile); ok {
		return boundSysFile{s, name}, nil
	}
	return boundFile{f, name}, nil
}

// boundFile is a file with the name that it was opened by.
type boundFile struct {
	File
	name string
}

func (f boundFile) Name() string { return f.name }

// sysFile is a file of the operating system, which can be locked.
type sysFile interface {
	File
	syscall.Conn
	Stat() (fs.FileInfo, error)
}

type boundSysFile struct {
	sysFile
	name string
}

func (f boundSysFile) Name() string { return f.name }

// Create implements FS.
func (b *BindFS) Create(name string) (File, error) { return b.file(name, b.under.Create) }

// Open implements FS.
func (b *BindFS) Open(name string) (File, error) { return b.file(name, b.under.Open) }

// OpenRW implements FS.
func (b *BindFS) OpenRW(name string) (File, error) { return b.file(name, b.under.OpenRW) }

// Rename implements FS. Names of different binds are as good as the file system below
// lets files pass between their places.
func (b *BindFS) Rename(oldname, newname string) error {
	return b.under.Rename(b.Real(oldname), b.Real(newname))
}

// Remove implements FS.
func (b *BindFS) Remove(name string) error { return b.under.Remove(b.Real(name)) }

// Stat implements FS.
func (b *BindFS) Stat(name string) (fs.FileInfo, error) { return b.under.Stat(b.Real(name)) }

// ReadDir implements FS.
func (b *BindFS) ReadDir(name string) ([]fs.DirEntry, error) { return b.under.ReadDir(b.Real(name)) }

// Mkdir implements FS.
func (b *BindFS) Mkdir(name string) error { return b.under.Mkdir(b.Real(name)) }

// MkdirAll implements FS. Of a name in a bind it makes the missing parents of To too.
func (b *BindFS) MkdirAll(name string) error { return b.under.MkdirAll(b.Real(name)) }

// SyncDir implements FS.
func (b *BindFS) SyncDir(name string) error { return b.under.SyncDir(b.Real(name)) }

// FileMeta implements MetaFS.
func (b *BindFS) FileMeta(name string) (Meta, error) { return MetaOf(b.under, b.Real(name)) }

// SetFileMeta implements MetaFS.
func (b *BindFS) SetFileMeta(name string, m Meta) error { return SetMeta(b.under, b.Real(name), m) }

// Lstat implements OwnerFS.
func (b *BindFS) Lstat(name string) (fs.FileInfo, error) { return Lstat(b.under, b.Real(name)) }

// CreateMode implements OwnerFS.
func (b *BindFS) CreateMode(name string, perm fs.FileMode) (File, error) {
	return b.file(name, func(real string) (File, error) { return CreateMode(b.under, real, perm) })
}

// MkdirMode implements OwnerFS.
func (b *BindFS) MkdirMode(name string, perm fs.FileMode) error {
	return mkdirMode(b.under, b.Real(name), perm)
}

// NoSync returns a view of under in which syncs do nothing: for files that need not outlive the power of the machine.
func NoSync(under FS) FS { return &noSyncFS{under} }

type noSyncFS struct{ FS }

func (n *noSyncFS) SyncDir(string) error { return nil }

func (n *noSyncFS) Create(name string) (File, error) { return noSyncOf(n.FS.Create(name)) }
func (n *noSyncFS) OpenRW(name string) (File, error) { return noSyncOf(n.FS.OpenRW(name)) }

func noSyncOf(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

// FileMeta implements MetaFS.
func (n *noSyncFS) FileMeta(name string) (Meta, error) { return MetaOf(n.FS, name) }

// SetFileMeta implements MetaFS.
func (n *noSyncFS) SetFileMeta(name string, m Meta) error { return SetMeta(n.FS, name, m) }

type noSyncFile struct{ File }

func (noSyncFile) Sync() error { return nil }
