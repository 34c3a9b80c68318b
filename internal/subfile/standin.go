package subfile

import (
	"errors"
	"io/fs"
	"os"

	"blobio/internal/base/vfs"
)

// StandIn reports whether the file base stands in for the dataset base, so that programs that ask whether a file of this name
// exists find one. A stand-in is a link to the manifest, or the manifest's text, which a copy of the link has. It does not hide
// the dataset, as any other file does.
func StandIn(fsys vfs.FS, base string) (bool, error) {
	fsys = vfs.OrOS(fsys)
	manifest, err := fsys.Stat(ManifestName(base))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var info fs.FileInfo
	if err == nil {
		info, err = fsys.Stat(base)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return false, nil
	case err != nil:
		return false, err
	case os.SameFile(info, manifest):
		return true, nil
	}
	return vfs.Begins(fsys, base, vfs.ManifestStart)
}
