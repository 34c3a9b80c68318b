package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/spath"
)

// ErrOutside means that a destination is outside of the prefix directory of the transfer process.
var ErrOutside = errors.New("not below the prefix directory")

// CheckControl checks that no other user can have changed a transfer file. Its folder, and the parents up to the first parent that
// belongs to root, must belong to the user or to root, and other users must not be able to change them. The same applies to the
// file and its lock, if they exist. They must not be symbolic links. The error is a *vfs.OwnerError, which wraps fs.ErrPermission,
// or reports a missing folder.
func CheckControl(fsys vfs.FS, file string) error {
	fsys = vfs.OrOS(fsys)
	if err := vfs.CheckWay(fsys, filepath.Dir(file)); err != nil {
		return err
	}
	return checkFiles(fsys, file)
}

func checkFiles(fsys vfs.FS, file string) error {
	for _, name := range []string{file, file + lockSuffix} {
		if err := vfs.CheckOwner(fsys, name, vfs.OwnOnly); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// MakeControl creates the folder of a transfer file, if it is missing, with access only for the user. Then it calls CheckControl.
func MakeControl(fsys vfs.FS, file string) error {
	fsys = vfs.OrOS(fsys)
	if err := vfs.MkdirOwn(fsys, filepath.Dir(file)); err != nil {
		return err
	}
	return CheckControl(fsys, file)
}

// within checks that a job writes only below the prefix directory, and that no other user can have replaced a folder in the path.
func (s *server) within(j *Job) error {
	if j.Out == nil {
		return s.belongs(j.Dst)
	}
	for name := range containersOf(j) {
		if err := s.belongs(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) belongs(name string) error {
	fsys, access := s.e.o.DstFS, vfs.OwnOnly
	if s.o.Shared {
		access = vfs.Shared
	}
	root, name := s.o.Prefix, filepath.Clean(name)
	in := spath.IsChild(filepath.ToSlash(root), filepath.ToSlash(name))
	if fsys == vfs.OS {
		// Links may lead to the prefix directory, but must not lead out of it.
		dir, err := spath.Real(filepath.Dir(name))
		if err != nil {
			return err
		}
		if root, err = spath.Real(root); err != nil {
			return err
		}
		name = filepath.Join(dir, filepath.Base(name))
		in = spath.IsChild(filepath.ToSlash(root), filepath.ToSlash(name))
	}
	if !in {
		return fmt.Errorf("%s: %w %s of this process", name, ErrOutside, s.o.Prefix)
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if err := vfs.CheckOwner(fsys, dir, access); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if dir == root || len(dir) <= len(root) {
			return nil
		}
	}
}
