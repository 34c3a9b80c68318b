package cello

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"blobio/internal/base/vfs"
)

// Stamp tells the state of a checkpoint from others, by its files and without reading them: whatever is written to it gives it another stamp. It is "" if
// the directory is no checkpoint, or one that its writer has not finished. info is that of the file that commits it: the manifest, or check.file_list.
func Stamp(dir string, fsys vfs.FS) (stamp string, info fs.FileInfo, err error) {
	fsys = vfs.OrOS(fsys)
	list, err := fsys.Stat(joinPath(dir, fileListName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !list.Mode().IsRegular() {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if _, err := fsys.Stat(joinPath(dir, lockName)); !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	stamp = vfs.Identity(list)
	info, err = fsys.Stat(joinPath(dir, ManifestName))
	if err == nil { // which has the checksums of all else
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
		if !slices.ContainsFunc([]string{dataSuffix, listSuffix}, func(s string) bool { return strings.HasSuffix(e.Name(), s) }) {
			continue
		}
		one, err := fsys.Stat(joinPath(dir, e.Name()))
		if err != nil {
			return "", nil, err
		}
		stamp += "|" + e.Name() + "|" + vfs.Identity(one)
	}
	return stamp, list, nil
}
