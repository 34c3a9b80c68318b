package fti

import (
	"sync/atomic"

	"blobio/internal/cli"
	"blobio/internal/vfs"
)

// countingReader shows how much of a file has been read.
type countingReader struct {
	vfs.File
	size  int64
	p     *cli.Progress
	stage string
	done  atomic.Int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(b, off)
	c.p.At(c.stage, min(c.done.Add(int64(n)), c.size), c.size)
	return n, err
}
