package vfs

import "io"

// ReaderFile returns a file of size bytes that r has. It can only be read, and Close does nothing.
func ReaderFile(name string, size int64, r io.ReaderAt) File { return readerFile{r, name, size} }

type readerFile struct {
	io.ReaderAt
	name string
	size int64
}

func (f readerFile) Name() string                            { return f.name }
func (f readerFile) Size() (int64, error)                    { return f.size, nil }
func (f readerFile) Close() error                            { return nil }
func (f readerFile) WriteAt([]byte, int64) (int, error)      { return 0, readOnly("write", f.name) }
func (f readerFile) WritevAt([][]byte, int64) (int64, error) { return 0, readOnly("write", f.name) }
func (f readerFile) Truncate(int64) error                    { return readOnly("truncate", f.name) }
func (f readerFile) Allocate(_, _ int64) error               { return readOnly("allocate", f.name) }
func (f readerFile) Sync() error                             { return readOnly("sync", f.name) }
