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

// Bind gives the directory To of a file system the name At.
type Bind struct {
	At string // the visible name
	To string // the real name; it need not exist
}

// BindFS is a file system in which some directories have other names: for example, a directory whose path differs from node
// to node.
type BindFS struct {
	under FS
	binds []Bind // the longest At first
}

// NewBind returns a view of under. A name that equals or is below a bind's At maps to the same name in its To. If several
// binds match, the bind with the longest At is used. "." as At stands for all relative names. "" as At is ignored. Other
// names pass unchanged. A mapped name is not mapped again. The listing of a directory does not contain the name At of a
// bind. Errors contain the names in under.
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

// slashed returns a name in a normal form for comparisons.
func slashed(name string) string { return path.Clean(filepath.ToSlash(name)) }

// Real returns the name in the underlying file system.
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

// boundFile is a file whose Name is the name that the caller opened.
type boundFile struct {
	File
	name string
}

func (f boundFile) Name() string { return f.name }

// sysFile is a file of the operating system, which supports locks.
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

// Rename implements FS. A rename between binds works if the underlying file system can rename between their directories.
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

// MkdirAll implements FS. For a name in a bind it also makes the missing parents of To.
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

// NoSync returns a view of under whose syncs do nothing, for files that need not survive a power loss.
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
