package cellodir

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Files of Enzo-E.
const (
	FileList   = "check.file_list"
	ListSuffix = ".block_list"
	DataSuffix = ".h5"
)

// Files of this module.
const (
	Manifest      = "blobio.manifest"
	Lock          = "blobio.writing" // file in a directory that is being written
	PartialSuffix = ".partial"       // suffix of the name of a directory until it is whole
)

// Writing reports whether a directory is unfinished, because its writer still works or has died. The next writer of the same
// name replaces an unfinished directory.
func Writing(dir string) bool {
	_, err := vfs.OS.Stat(filepath.Join(dir, Lock))
	return err == nil
}

// Recover removes the unfinished directory that a dead writer of dir left. It returns the path of this directory, or "" if
// there is none. If the writer is alive, it returns fault.ErrInUse. If dry is true, it removes nothing and does not check
// whether the writer is alive.
func Recover(ctx context.Context, dir string, dry bool) (left string, err error) {
	tmp := filepath.Clean(dir) + PartialSuffix
	if !Writing(tmp) {
		return "", nil
	}
	if dry {
		return tmp, nil
	}
	l, err := durable.Acquire(ctx, vfs.OS, filepath.Clean(dir), durable.LeaseOptions{})
	if err != nil {
		return "", err
	}
	if Writing(tmp) { // check again under the lease
		if err = RemovePartial(vfs.OS, tmp); err == nil {
			err = vfs.SyncParent(vfs.OS, tmp)
		}
		left = tmp
	}
	if err == nil {
		err = l.Settle()
	}
	return left, errors.Join(err, l.Release())
}

// RemovePartial removes an unfinished directory and the files of its writer. If the directory has any other file, RemovePartial
// keeps the directory and returns fault.ErrExist.
func RemovePartial(fsys vfs.FS, dir string) error {
	l, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range l {
		n := e.Name()
		own := n == Lock || n == Manifest || n == FileList || strings.HasSuffix(n, ListSuffix) || strings.HasSuffix(n, DataSuffix)
		if e.IsDir() || !own {
			return fmt.Errorf("%s: %s in this directory was not written by this program: %w", dir, n, fault.ErrExist)
		}
	}
	for _, e := range l {
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.Remove(dir)
}

// Stamp identifies the state of a checkpoint by its files, without reading them. Any write changes the stamp. It is "" if the
// directory is unfinished or not a checkpoint. info describes the file that is written last: the manifest, or check.file_list
// if there is no manifest.
func Stamp(dir string, fsys vfs.FS) (stamp string, info fs.FileInfo, err error) {
	fsys = vfs.OrOS(fsys)
	list, err := fsys.Stat(filepath.Join(dir, FileList))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !list.Mode().IsRegular() {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if _, err := fsys.Stat(filepath.Join(dir, Lock)); !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	stamp = vfs.Identity(list)
	info, err = fsys.Stat(filepath.Join(dir, Manifest))
	if err == nil { // the manifest has the checksums of all other files
		return stamp + "|" + vfs.Identity(info), info, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	for _, e := range names {
		if !slices.ContainsFunc([]string{DataSuffix, ListSuffix}, func(s string) bool { return strings.HasSuffix(e.Name(), s) }) {
			continue
		}
		one, err := fsys.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", nil, err
		}
		stamp += "|" + e.Name() + "|" + vfs.Identity(one)
	}
	return stamp, list, nil
}
