package dataset

import (
	"errors"
	"io/fs"

	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// A name like F.nc.2024 may belong to a subfile or to any other file. Without a manifest the content decides.

// BlobHeader returns the header of a file if it is a subfile, otherwise nil.
func BlobHeader(fsys vfs.FS, name string) (*Place, error) {
	if info, err := fsys.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // the file belongs to another user
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	pl, _, err := DecodePlace(f, size, name, 0)
	switch {
	case err == nil && !pl.Plain:
		return pl, nil
	case err == nil:
		return nil, nil
	}
	for _, class := range []error{ErrNotFormat, ErrTruncated, ErrCorrupt, ErrVersion, ErrUnsupported, ErrTooLarge, ErrChecksum} {
		if errors.Is(err, class) {
			return nil, nil
		}
	}
	return nil, err // the file could not be read
}

// HoldsSubfile returns a function that reports whether the content of a file is subfile i of a dataset.
func HoldsSubfile(fsys vfs.FS) func(name string, i int) (bool, error) {
	return func(name string, i int) (bool, error) {
		pl, err := BlobHeader(fsys, name)
		return pl != nil && i < pl.Shape.Subfiles, err
	}
}

// WithoutStrays returns the files of a dataset without a manifest. The first subfile gives the number of subfiles. A file with
// a higher number counts only if its content is a subfile. After an error, WithoutStrays returns all files.
func WithoutStrays(fsys vfs.FS, found *subfile.Set) (*subfile.Set, error) {
	first := -1
	for i := range found.Members {
		if first < 0 || i < first {
			first = i
		}
	}
	if first < 0 {
		return found, nil
	}
	pl, err := BlobHeader(fsys, found.Members[first])
	if err != nil || pl == nil { // if err is not nil, opening the file returns it
		return found, err
	}
	set := *found
	set.Members = map[int]string{}
	for i, name := range found.Members {
		in := i < pl.Shape.Subfiles
		if !in {
			own, err := BlobHeader(fsys, name)
			if err != nil {
				return found, err
			}
			in = own != nil
		}
		if in {
			set.Members[i] = name
		}
	}
	return &set, nil
}
