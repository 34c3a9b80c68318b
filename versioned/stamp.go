package versioned

import (
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/vfs"
)

// Stamp tells the state of an array from others, by its seals and without reading them: each commit gives it another stamp. It is "" where there is
// no file of that name; what is there may be no seal. info is that of the newer one.
func Stamp(dir string, fsys vfs.FS) (stamp string, info fs.FileInfo, err error) {
	for _, n := range recordNames {
		one, err := vfs.OrOS(fsys).Stat(filepath.Join(dir, n))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !one.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		stamp += n + "|" + vfs.Identity(one) + "|"
		if info == nil || one.ModTime().After(info.ModTime()) {
			info = one
		}
	}
	return stamp, info, nil
}
