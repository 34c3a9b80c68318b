package vfs

import (
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"sync"
	"unicode/utf8"
)

// kinds are other formats, by their first bytes.
var kinds = []struct{ magic, what, who string }{
	{LFSPointer, "a Git LFS pointer", "\"git lfs pull\" fetches the file"},
	{"CDF", "a CDF file", "netCDF-C (ncdump) may read it"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", "h5dump and netCDF-C may read it"},
	{"\xcd\xf3\x00\x01", "a CDF file of NASA", "the CDF library of NASA reads it"},
	{"\x1f\x8b", "gzip data", "gunzip unpacks it"},
	{"BZh", "bzip2 data", "bunzip2 unpacks it"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unzstd unpacks it"},
	{"\xfd7zXZ", "xz data", "unxz unpacks it"},
	{"PK\x03\x04", "a zip archive", "unzip unpacks it"},
	{"GRIB", "a GRIB file", "ecCodes and cdo read it"},
	{"\x0e\x03\x13\x01", "an HDF4 file", "the HDF4 library reads it"},
	{"\x7fELF", "an ELF program", ""},
	{"\x89PNG", "a PNG picture", ""},
	{ManifestStart, "the manifest of a dataset", "blobio needs its subfiles beside it, and the dataset's name"},
}

// ManifestStart is the beginning of the manifest of a dataset.
const ManifestStart = `{"blobio_manifest":`

// Kind returns the format that the first bytes of a file show, and the program that reads the format. Both are "" if the format
// is unknown.
func Kind(head []byte) (what, who string) {
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.what, k.who
		}
	}
	return "", ""
}

// IsText reports whether a file that begins with the bytes head may be a text file.
func IsText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
		head = head[n:]
	}
	return true
}

// sumPiece is the number of bytes that Sum reads at once.
const sumPiece = 1 << 20

// sumWindow is the number of bytes that Sum reads at once if it only sums. They fit in the cache of a core.
const sumWindow = 256 << 10

// sumWindows holds buffers of Sum, because the pages of a new buffer cost as much as the sum.
var sumWindows = sync.Pool{New: func() any { return new([sumWindow]byte) }}

// Sum reads a file to its end and returns its CRC-32 (IEEE) and its length. It passes each piece to the function each, unless
// this is nil. An error of this function ends the reading.
func Sum(ctx context.Context, f File, each func(b []byte, off int64) error) (crc uint32, n int64, err error) {
	size, err := f.Size()
	if err != nil {
		return 0, 0, err
	}
	var buf []byte
	if each == nil && size > sumWindow {
		w := sumWindows.Get().(*[sumWindow]byte)
		defer sumWindows.Put(w)
		buf = w[:]
	} else {
		buf = make([]byte, min(sumPiece, max(size, 1)))
	}
	for {
		if err := ctx.Err(); err != nil {
			return 0, n, err
		}
		k, err := f.ReadAt(buf, n)
		crc = crc32.Update(crc, crc32.IEEETable, buf[:k])
		if k > 0 && each != nil {
			if err := each(buf[:k], n); err != nil {
				return 0, n, err
			}
		}
		n += int64(k)
		if err == io.EOF {
			return crc, n, nil
		}
		if err != nil {
			return 0, n, err
		}
	}
}

// SumFile is Sum for a named file.
func SumFile(ctx context.Context, fsys FS, name string) (crc uint32, n int64, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return Sum(ctx, f, nil)
}

// ReaderFile returns a read-only file of size bytes with the content of r. Its Close does nothing.
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
