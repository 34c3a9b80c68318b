package transfer

import (
	"blobio/internal/fault"
	"fmt"
	"math"
)

// maxSegments caps how many segments a file has: a container size that is far too small is a mistake.
const maxSegments = 1 << 20

// ContainerName is the name of the n-th container of a dataset, in the folder of its metadata.
func ContainerName(n int64) string { return fmt.Sprintf("ctr.%d.scr", n) }

// Pack returns where the bytes offset ... offset+length-1 of a stream are, when it is cut into containers of size bytes.
// name gives the containers their names, nil is ContainerName. The result is not nil, even of no bytes.
func Pack(size, offset, length int64, name func(n int64) string) ([]Segment, error) {
	switch {
	case size <= 0 || offset < 0 || length < 0 || offset > math.MaxInt64-length:
		return nil, fmt.Errorf("%w", fault.Usage("%d bytes at %d in containers of %d", length, offset, size))
	case length/size >= maxSegments:
		return nil, fmt.Errorf("%d bytes in containers of %d: %w: more than %d segments", length, size, fault.ErrTooLarge, maxSegments)
	}
	if name == nil {
		name = ContainerName
	}
	segs := []Segment{}
	for length > 0 {
		in := offset % size
		n := min(length, size-in)
		segs = append(segs, Segment{File: name(offset / size), Offset: in, Length: n})
		offset += n
		length -= n
	}
	return segs, nil
}
