package prefixdir

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
)

// Folder holds what all files of a prefix directory share: the path, the permissions and the locks.
type Folder struct {
	FS   vfs.FS // nil: the operating system's file system
	Path string // path of the prefix directory

	// NoLock disables the locks of the halt file and of the index. Open sets NoLock if the file system is not the operating
	// system's.
	NoLock bool
	Logger *slog.Logger // gets warnings about repairs; nil: nothing is logged
	// Shared allows the group to write to the prefix directory. If the directory has the sticky bit, others may write too; see
	// CheckOwner.
	Shared bool

	made atomic.Bool  // Create has synced the metadata folder
	last atomic.Int64 // the dataset whose folder Datasets.Create has made last
}

func (f *Folder) fs() vfs.FS { return vfs.OrOS(f.FS) }

// Create calls CheckOwner and durably makes the metadata folder. Every function that changes the prefix directory calls Create
// first.
func (f *Folder) Create() error {
	if err := f.CheckOwner(); err != nil {
		return err
	}
	if f.made.Load() && f.isThere(f.File("")) {
		return nil
	}
	if err := f.fs().MkdirAll(f.File("")); err != nil {
		return err
	}
	if err := f.fs().SyncDir(f.Path); err != nil {
		return err
	}
	f.made.Store(true)
	return nil
}

func (f *Folder) isThere(dir string) bool {
	_, err := f.fs().Stat(dir)
	return err == nil
}

// EnvShared is the environment variable with which users set Dir.Shared in programs and commands, by the value 1.
const EnvShared = "BLOBIO_SHARED"

// CheckOwner checks that the prefix directory is safe to write to. The directory and its metadata folder must belong to the
// effective user or to root. No other user may have write access, except as Shared allows. A missing folder is no error. The
// error is a *vfs.OwnerError, which wraps fs.ErrPermission.
func (f *Folder) CheckOwner() error {
	root, access := f.Path, vfs.OwnOnly
	if f.Shared {
		access = vfs.Shared
	}
	if f.fs() == vfs.OS {
		info, err := vfs.Lstat(f.fs(), root)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 { // the user may pass a symbolic link
			root, err = filepath.EvalSymlinks(root)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range []string{root, filepath.Join(root, MetaDir)} {
		err := vfs.CheckOwner(f.fs(), dir, access)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if vfs.CheckOwner(f.fs(), dir, vfs.Shared) == nil {
			return fmt.Errorf("%w; %s=1 accepts this", err, EnvShared)
		}
		return err
	}
	return nil
}

// CheckLocks checks that the file system supports locks. If it does not, CheckLocks sets NoLock and returns an error that wraps
// kvtree.ErrNoLocks, for a warning. Without locks a single writer is safe, but nothing prevents a command from changing the halt
// file or the index at the same moment. Call Create before CheckLocks.
func (f *Folder) CheckLocks() error {
	if f.NoLock {
		return nil
	}
	err := kvtree.CheckLocks(f.fs(), f.File(""))
	if errors.Is(err, kvtree.ErrNoLocks) {
		f.NoLock = true
	}
	return err
}

// File returns the path of a file in the metadata folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, MetaDir, name) }

func (f *Folder) warn(msg string, args ...any) {
	if f.Logger != nil {
		f.Logger.Warn(msg, args...)
	}
}

// TreeFile is a file of the metadata folder that holds one tree.
type TreeFile struct {
	*Folder
	name string
}

func (f *TreeFile) path() string { return f.File(f.name) }

// Read reads the tree. If the file is missing, Read returns an empty tree.
func (f *TreeFile) Read() (*kvtree.Tree, error) {
	t, err := kvtree.ReadFile(f.fs(), f.path(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return kvtree.New(), nil
	}
	return t, err
}

// Write replaces the file.
func (f *TreeFile) Write(t *kvtree.Tree) error { return kvtree.WriteFile(f.fs(), f.path(), t) }

func (f *TreeFile) remove() error {
	err := f.fs().Remove(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return vfs.SyncParent(f.fs(), f.path())
}

// keepDamaged renames an unreadable file, so that users can examine it later.
func (f *TreeFile) keepDamaged(cause error) error {
	f.warn("a damaged file is set aside", "file", f.path(), "as", f.name+damagedSuffix, "err", cause)
	return durable.Rename(f.fs(), f.path(), f.path()+damagedSuffix)
}

// maxDamaged is the maximum number of bytes that are kept of a damaged file.
const maxDamaged = 1 << 20

// copyDamaged copies a damaged file. The file itself must stay in place because it carries the lock. Errors of copying are
// ignored.
func (f *TreeFile) copyDamaged() {
	b, err := vfs.ReadFile(f.fs(), f.path(), maxDamaged)
	if err == nil {
		_ = f.fs().Remove(f.path() + damagedSuffix)
		err = vfs.WriteFile(f.fs(), f.path()+damagedSuffix, b)
	}
	if err != nil {
		f.warn("a damaged file could not be copied", "file", f.path(), "err", err)
	}
}
