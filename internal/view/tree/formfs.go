package tree

import (
	"io"
	"io/fs"
	"time"

	"blobio/internal/base/vfs"
)

// formFS is a file system with one additional file: the bytes of a source.
type formFS struct {
	vfs.FS
	name string
	src  source
	info formInfo
}

// Open implements vfs.FS.
func (f *formFS) Open(name string) (vfs.File, error) {
	if name == f.name {
		return vfs.ReaderFile(name, f.src.Size(), formReader{f.src}), nil
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

// formInfo is the result of Stat for the file.
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

// formReader reads a source.
type formReader struct{ src source }

// ReadAt implements io.ReaderAt. A program that reads the header also reads some bytes after it. Damage of these bytes
// must not be an error of the header.
func (r formReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.src.ReadAt(b, off)
	if begin := r.begin(); err != nil && off < begin && off+int64(n) >= begin {
		err = io.EOF
	}
	return n, err
}

// begin returns the offset of the data.
func (r formReader) begin() int64 {
	begin := r.src.Size()
	for _, v := range r.src.Header().Vars {
		begin = min(begin, v.Begin)
	}
	return begin
}
