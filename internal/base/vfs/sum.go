package vfs

import (
	"context"
	"hash/crc32"
	"io"
)

// sumPiece is how much of a file Sum reads at once, in bytes.
const sumPiece = 1 << 20

// Sum reads a file to its end and returns its CRC-32 (IEEE) and its length in bytes. Each piece that is read is handed to each, unless it is
// nil; an error of each ends the reading.
func Sum(ctx context.Context, f File, each func(b []byte, off int64) error) (crc uint32, n int64, err error) {
	size, err := f.Size()
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, min(sumPiece, max(size, 1)))
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

// SumFile is Sum of the file of a name.
func SumFile(ctx context.Context, fsys FS, name string) (crc uint32, n int64, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return Sum(ctx, f, nil)
}
