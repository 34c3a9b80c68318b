package bench

import (
	"hash/crc32"
	"time"

	"blobio/cdf5"
	"blobio/internal/vfs"
)

// A floor is the least that a writer of blobs can do with bytes that lie in memory: the raw ceiling
// writes one buffer again and again, which never leaves the cache.
type floor struct {
	what      string
	sum, swap bool
}

var floors = []floor{
	{"write, data from memory", false, false},
	{"sum and write", true, false},
	{"swap, sum and write", true, true},
}

// write brings src to a fresh file, block by block, and removes it. A block that was summed or swapped is
// written out of the cache of its core.
func (l floor) write(name string, src []byte, block, writers int) (time.Duration, error) {
	bufs := make([][]byte, writers)
	sums := make([]uint32, writers)
	for i := range bufs {
		bufs[i] = make([]byte, block)
	}
	return inFreshFile(name, func(f vfs.File) error {
		return striped(int64(len(src)), block, writers, func(w int, off int64, n int) error {
			b := src[off : off+int64(n)]
			if l.swap {
				cdf5.Swap(bufs[w][:n], b, 4)
				b = bufs[w][:n]
			}
			if l.sum {
				sums[w] = crc32.Update(sums[w], crc32.IEEETable, b)
			}
			_, err := f.WriteAt(b, off)
			return err
		})
	})
}
