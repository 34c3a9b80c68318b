package scr

import (
	"hash/crc32"
	"io"

	"blobio/internal/vfs"
)

const sumPiece = 1 << 20

// sumFile is the CRC-32 of a file and its size in bytes.
func sumFile(fsys vfs.FS, name string) (uint32, int64, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return sum(f)
}

func sum(f vfs.File) (uint32, int64, error) {
	size, err := f.Size()
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, min(sumPiece, max(size, 1)))
	var crc uint32
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		n, err := f.ReadAt(b, off)
		if n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		off += int64(n)
	}
	return crc, size, nil
}

// syncFile makes a file durable and returns its CRC-32 and size.
func syncFile(fsys vfs.FS, name string) (uint32, int64, error) {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	crc, size, err := sum(f)
	if err != nil {
		return 0, 0, err
	}
	return crc, size, vfs.SyncParent(fsys, name)
}
