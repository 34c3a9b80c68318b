package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Generation of the formats of SCR.
type Generation uint8

// The generations. What is made here is C.
const (
	_    Generation = iota
	GenA            // before 1.1.8
	GenB            // 1.1.8 to 2.0
	GenC            // 3
)

// String is the letter.
func (g Generation) String() string {
	if g > GenC {
		return fmt.Sprintf("Generation(%d)", uint8(g))
	}
	return "?ABC"[g : g+1]
}

// Dataset is the record of a dataset.
type Dataset = record.Dataset

// Names in the prefix directory.
const (
	MetaDir       = ".scr" // the folder of all metadata
	indexName     = "index.scr"
	flushName     = "flush.scr"
	haltName      = "halt.scr"
	nodesName     = "nodes.scr"
	appConfName   = "app.conf"
	summaryName   = "summary.scr"
	indexLock     = "index.lock"
	damagedSuffix = ".damaged"
)

// Dir is a prefix directory. Its fields may be set before the first use.
type Dir struct {
	FS   vfs.FS // nil: the operating system's
	Path string // of the prefix directory itself

	// Lock is the kind of lock for the halt file and for changes of the index. Open sets Flock, as the reference does,
	// for the file system of the operating system and NoLock for any other.
	Lock kvtree.LockKind
	// Location is the time zone of the times in the index: the reference writes local time without a zone. nil: time.Local.
	Location *time.Location
	Logger   *slog.Logger // what was repaired; nil: nothing is said
	// Shared lets the group write to the prefix directory, and others if it is sticky: CheckOwner.
	Shared bool

	mu sync.Mutex // changes of the index
}

// Open returns the prefix directory at a path. It touches nothing. fsys nil is the operating system's.
func Open(fsys vfs.FS, prefix string) *Dir {
	d := &Dir{FS: vfs.OrOS(fsys), Path: prefix, Lock: kvtree.NoLock}
	if d.FS == vfs.OS {
		d.Lock = kvtree.Flock
	}
	return d
}

func (d *Dir) fs() vfs.FS { return vfs.OrOS(d.FS) }

// Create makes the folder of the metadata, durably, if CheckOwner has nothing against it. All that changes the prefix
// directory begins with it.
func (d *Dir) Create() error {
	if err := d.CheckOwner(); err != nil {
		return err
	}
	if err := d.fs().MkdirAll(d.File("")); err != nil {
		return err
	}
	return d.fs().SyncDir(d.Path)
}

// EnvShared is 1 in the environment of programs and commands for which Dir.Shared is to be set.
const EnvShared = "BLOBIO_SHARED"

// CheckOwner says whether the prefix directory can be written to on behalf of the user: it and the folder of its metadata
// belong to the effective user or to root, and nobody else may write there, but for what Shared allows. What is not there
// yet is as it should be. The error is a *vfs.OwnerError, which wraps fs.ErrPermission.
func (d *Dir) CheckOwner() error {
	root, access := d.Path, vfs.OwnOnly
	if d.Shared {
		access = vfs.Shared
	}
	if d.fs() == vfs.OS { // the user may have named a link
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
		if err := vfs.CheckOwner(d.fs(), dir, access); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckLocks finds out whether the file system has the locks that Lock asks for. Without them Lock is NoLock from now on, and the
// error, which wraps kvtree.ErrNoLocks, is for telling so: one writer at a time goes on as before, but a command that changes the
// halt file or the index at the same moment is not kept out any more. Create comes before.
func (d *Dir) CheckLocks() error {
	if d.Lock == kvtree.NoLock {
		return nil
	}
	err := kvtree.CheckLocks(d.fs(), d.File(""))
	if errors.Is(err, kvtree.ErrNoLocks) {
		d.Lock = kvtree.NoLock
	}
	return err
}

// File is the path of a file in the metadata folder.
func (d *Dir) File(name string) string { return filepath.Join(d.Path, MetaDir, name) }

// DatasetDir is the folder of the metadata of a dataset [B,C]: <prefix>/.scr/scr.dataset.<id>.
func (d *Dir) DatasetDir(id int) string { return d.File(record.DefaultName(id)) }

// CreateDataset makes the folder of the metadata of a dataset, durably.
func (d *Dir) CreateDataset(id int) error {
	if err := checkID(id); err != nil {
		return err
	}
	if err := d.Create(); err != nil {
		return err
	}
	if err := d.fs().MkdirAll(d.DatasetDir(id)); err != nil {
		return err
	}
	return d.fs().SyncDir(d.File(""))
}

func checkID(id int) error {
	if id < 1 || int64(id) > 1<<31-1 {
		return fault.Usage("dataset %d", id)
	}
	return nil
}

// checkName returns an error if a name cannot be that of a dataset: it is a path below the prefix directory.
func checkName(name string) error {
	if name == "" || strings.Contains(name, "\x00") || path.IsAbs(name) || !fs.ValidPath(path.Clean(name)) {
		return fault.Usage("name of a dataset %.80q: want a path below the prefix directory", name)
	}
	return nil
}

// read reads a file of the metadata folder; one that is not there is an empty tree.
func (d *Dir) read(name string) (*kvtree.Tree, error) {
	t, err := kvtree.ReadFile(d.fs(), d.File(name), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return kvtree.New(), nil
	}
	return t, err
}

// write replaces a file of the metadata folder.
func (d *Dir) write(name string, t *kvtree.Tree) error {
	return kvtree.WriteFile(d.fs(), d.File(name), t)
}

// remove removes a file of the metadata folder, if it is there.
func (d *Dir) remove(name string) error {
	err := d.fs().Remove(d.File(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return vfs.SyncParent(d.fs(), d.File(name))
}

// keepDamaged renames a file that cannot be read, so that it can be looked at later.
func (d *Dir) keepDamaged(name string, cause error) error {
	d.warn("damaged file set aside", "file", d.File(name), "as", name+damagedSuffix, "err", cause)
	return durable.Rename(d.fs(), d.File(name), d.File(name+damagedSuffix))
}

func (d *Dir) warn(msg string, args ...any) {
	if d.Logger != nil {
		d.Logger.Warn(msg, args...)
	}
}

func (d *Dir) location() *time.Location {
	if d.Location != nil {
		return d.Location
	}
	return time.Local
}
