package prefixdir

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
)

// Folder is a prefix directory as a place of files: who may write to it, which locks it has, and the trees in its metadata folder.
type Folder struct {
	FS   vfs.FS // nil: the operating system's
	Path string // of the prefix directory itself

	// NoLock leaves the locks of the halt file and of changes of the index out. Open sets it for any file system but that
	// of the operating system.
	NoLock bool
	Logger *slog.Logger // gets notes of repairs; nil: nothing is logged
	// Shared lets the group write to the prefix directory, and others if it is sticky: CheckOwner.
	Shared bool
}

func (f *Folder) fs() vfs.FS { return vfs.OrOS(f.FS) }

// Create makes the folder of the metadata, durably, if CheckOwner has nothing against it. All that changes the prefix
// directory begins with it.
func (f *Folder) Create() error {
	if err := f.CheckOwner(); err != nil {
		return err
	}
	if err := f.fs().MkdirAll(f.File("")); err != nil {
		return err
	}
	return f.fs().SyncDir(f.Path)
}

// EnvShared is 1 in the environment of programs and commands for which Dir.Shared is to be set.
const EnvShared = "BLOBIO_SHARED"

// CheckOwner reports whether the prefix directory can be written to on behalf of the user: it and the folder of its metadata
// belong to the effective user or to root, and nobody else may write there, except as Shared allows. A folder that does not
// exist yet is fine. The error is a *vfs.OwnerError, which wraps fs.ErrPermission.
func (f *Folder) CheckOwner() error {
	root, access := f.Path, vfs.OwnOnly
	if f.Shared {
		access = vfs.Shared
	}
	if f.fs() == vfs.OS { // the user may have named a link
		real, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		root = real
	}
	for _, dir := range []string{root, filepath.Join(root, MetaDir)} {
		if err := vfs.CheckOwner(f.fs(), dir, access); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckLocks finds out whether the file system has locks. Without them NoLock is set from now on, and the
// error, which wraps kvtree.ErrNoLocks, is for telling so: one writer at a time goes on as before, but a command that changes the
// halt file or the index at the same moment is not kept out any more. Create comes before.
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

// File is the path of a file in the metadata folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, MetaDir, name) }

func (f *Folder) warn(msg string, args ...any) {
	if f.Logger != nil {
		f.Logger.Warn(msg, args...)
	}
}

// TreeFile is one file of the metadata folder that holds a tree.
type TreeFile struct {
	*Folder
	name string
}

// path is the name of the file.
func (f *TreeFile) path() string { return f.File(f.name) }

// Read reads the tree; a file that is not there is an empty tree.
func (f *TreeFile) Read() (*kvtree.Tree, error) {
	t, err := kvtree.ReadFile(f.fs(), f.path(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return kvtree.New(), nil
	}
	return t, err
}

// Write replaces the file.
func (f *TreeFile) Write(t *kvtree.Tree) error { return kvtree.WriteFile(f.fs(), f.path(), t) }

// remove removes the file, if it is there.
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

// keepDamaged renames a file that cannot be read, so that it can be looked at later.
func (f *TreeFile) keepDamaged(cause error) error {
	f.warn("damaged file set aside", "file", f.path(), "as", f.name+damagedSuffix, "err", cause)
	return durable.Rename(f.fs(), f.path(), f.path()+damagedSuffix)
}

// maxDamaged is how much of a damaged file is worth keeping, in bytes.
const maxDamaged = 1 << 20

// copyDamaged copies a file that has to stay where it is, for its lock; it does not matter if that fails.
func (f *TreeFile) copyDamaged() {
	b, err := vfs.ReadFile(f.fs(), f.path(), maxDamaged)
	if err == nil {
		_ = f.fs().Remove(f.path() + damagedSuffix)
		err = vfs.WriteFile(f.fs(), f.path()+damagedSuffix, b)
	}
	if err != nil {
		f.warn("damaged file could not be copied", "file", f.path(), "err", err)
	}
}
