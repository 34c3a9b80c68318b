//go:build linux || darwin

package vfs

import (
	"io"

	"blobio/internal/base/calls"
)

const (
	iovMax   = 1024    // IOV_MAX on linux and darwin
	batchMax = 1 << 30 // bytes per call: the kernel limits a write to less than 2 GiB, and int may have 32 bits
)

func (f *osFile) writev(bufs [][]byte, off int64) (int64, error) {
	if len(bufs) == 1 {
		n, err := f.WriteAt(bufs[0], off)
		return int64(n), err
	}
	var total int64
	var batch [][]byte // our own slice headers, which change after a short write
	for len(bufs) > 0 {
		batch = batch[:0]
		size := 0
		for len(bufs) > 0 && len(batch) < iovMax {
			b := bufs[0]
			if len(b) >= batchMax { // os.File splits a large write
				break
			}
			if size+len(b) > batchMax {
				break
			}
			if len(b) > 0 {
				if batch == nil {
					batch = make([][]byte, 0, min(len(bufs), iovMax))
				}
				batch = append(batch, b)
				size += len(b)
			}
			bufs = bufs[1:]
		}
		n, err := f.writeBatch(batch, off+total)
		total += n
		if err != nil {
			return total, err
		}
		if len(bufs) > 0 && len(bufs[0]) >= batchMax {
			n, err := f.WriteAt(bufs[0], off+total)
			total += int64(n)
			if err != nil {
				return total, err
			}
			bufs = bufs[1:]
		}
	}
	return total, nil
}

// writeBatch writes at most iovMax non-empty slices. It continues after short writes.
func (f *osFile) writeBatch(batch [][]byte, off int64) (int64, error) {
	var total int64
	for len(batch) > 0 {
		var n int
		err := f.system("writev", func(fd int) (err error) {
			n, err = calls.Pwritev(fd, batch, off+total)
			return err
		})
		if n > 0 {
			total += int64(n)
		}
		if err != nil {
			return total, err
		}
		if n <= 0 {
			return total, f.pathError("writev", io.ErrShortWrite)
		}
		for n > 0 {
			if n < len(batch[0]) {
				batch[0] = batch[0][n:]
				break
			}
			n -= len(batch[0])
			batch = batch[1:]
		}
	}
	return total, nil
}
