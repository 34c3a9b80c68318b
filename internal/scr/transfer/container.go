package transfer

import (
	"fmt"
	"math"
	"path"

	"blobio/internal/base/fault"
)

// maxSegments caps how many segments a file has: a container size that is far too small is a mistake.
const maxSegments = 1 << 20

// ContainerName is the name of the n-th container of a dataset, in the folder of its metadata.
func ContainerName(dir string, n int64) string { return path.Join(dir, fmt.Sprintf("ctr.%d.scr", n)) }

// Pack returns where the bytes offset ... offset+length-1 of a stream are, when it is cut into containers of size bytes
// in a folder. The result is not nil, even of no bytes.
func Pack(size, offset, length int64, dir string) ([]Segment, error) {
	switch {
	case size <= 0 || offset < 0 || length < 0 || offset > math.MaxInt64-length:
		return nil, fault.Usage("%d bytes at %d in containers of %d", length, offset, size)
	case length/size >= maxSegments:
		return nil, fmt.Errorf("%d bytes in containers of %d: %w: more than %d segments", length, size, fault.ErrTooLarge, maxSegments)
	}
	segs := []Segment{}
	for length > 0 {
		in := offset % size
		n := min(length, size-in)
		segs = append(segs, Segment{File: ContainerName(dir, offset/size), Offset: in, Length: n})
		offset += n
		length -= n
	}
	return segs, nil
}
