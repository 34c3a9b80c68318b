package tree

import (
	"io"
	"io/fs"
	"syscall"
	"time"

	"blobio/internal/vfs"
)

// formFS is a file system with one file more: the bytes of a source.
type formFS struct {
	vfs.FS
	name string
	src  source
	info formInfo
}

// Open implements vfs.FS.
func (f *formFS) Open(name string) (vfs.File, error) {
	if name == f.name {
		return formFile{f}, nil
	}
	return f.FS.Open(name)
}

// Stat implements vfs.FS.
func (f *formFS) Stat(name string) (fs.FileInfo, error) {
	if name == f.name {
		return f.info, nil
	}
	return f.FS.Stat(name)
}

// formInfo is what Stat tells of the file.
type formInfo struct {
	name string
	size int64
	mod  time.Time
}

func (i formInfo) Name() string       { return i.name }
func (i formInfo) Size() int64        { return i.size }
func (i formInfo) Mode() fs.FileMode  { return 0o444 }
func (i formInfo) ModTime() time.Time { return i.mod }
func (i formInfo) IsDir() bool        { return false }
func (i formInfo) Sys() any           { return nil }

// formFile is the file, open. Its source stays open when it is closed.
type formFile struct{ *formFS }

func (f formFile) Name() string                            { return f.name }
func (f formFile) Size() (int64, error)                    { return f.src.Size(), nil }
func (f formFile) Close() error                            { return nil }
func (f formFile) WriteAt([]byte, int64) (int, error)      { return 0, f.readOnly() }
func (f formFile) WritevAt([][]byte, int64) (int64, error) { return 0, f.readOnly() }
func (f formFile) Truncate(int64) error                    { return f.readOnly() }
func (f formFile) Allocate(_, _ int64) error               { return f.readOnly() }
func (f formFile) Sync() error                             { return f.readOnly() }

// ReadAt implements vfs.File. Who reads the header reads on behind it; what is damaged there is no error of the header.
func (f formFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.src.ReadAt(b, off)
	if begin := f.begin(); err != nil && off < begin && off+int64(n) >= begin {
		err = io.EOF
	}
	return n, err
}

// begin is where the data begin.
func (f formFile) begin() int64 {
	begin := f.src.Size()
	for _, v := range f.src.Header().Vars {
		begin = min(begin, v.Begin)
	}
	return begin
}

func (f formFile) readOnly() error {
	return &fs.PathError{Op: "write", Path: f.name, Err: syscall.EROFS}
}
