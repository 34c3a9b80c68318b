//go:build !(linux && cgo && (mpi || libc))

package calls

import (
	"io/fs"
	"os"
)

// File is an open file.
type File = os.File

// OpenFile is os.OpenFile.
func OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	return os.OpenFile(name, flag, perm)
}

// Size returns the size of an open file in bytes.
func Size(f *File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
