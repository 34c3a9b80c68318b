package transfer

import (
	"blobio/internal/fault"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxSegments caps how many segments a file has: a container size that is far too small is a mistake.
const maxSegments = 1 << 20

// FileSize is a file that is to be packed.
type FileSize struct {
	Rank int // that wrote it
	Name string
	Size int64 // bytes
}

// ContainerName is the name of the n-th container of a dataset, in the folder of its metadata.
func ContainerName(n int64) string { return fmt.Sprintf("ctr.%d.scr", n) }

// Containers lays the files of the nodes out in containers of at most size bytes, as one stream that is cut: the nodes in
// the order of their lowest ranks, the files of a node by rank, those of a rank in their order. The result has the
// segments of each file, where nodes has the file. A segment's File is ContainerName; none is empty, and a file without
// bytes has none (but a list that is not nil, for Job.Out). Nothing is written.
func Containers(size int64, nodes [][]FileSize) ([][][]Segment, error) {
	type place struct{ rank, node, file int }
	var order []place
	lead := make([]int, len(nodes))
	out := make([][][]Segment, len(nodes))
	for n, files := range nodes {
		lead[n] = math.MaxInt
		out[n] = make([][]Segment, len(files))
		for f, x := range files {
			lead[n] = min(lead[n], x.Rank)
			order = append(order, place{x.Rank, n, f})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(lead[a.node], lead[b.node]), cmp.Compare(a.node, b.node), cmp.Compare(a.rank, b.rank))
	})
	var at int64
	for _, p := range order {
		x := nodes[p.node][p.file]
		segs, err := Pack(size, at, x.Size, ContainerName)
		if err != nil {
			return nil, fmt.Errorf("%w (%s of rank %d)", err, x.Name, x.Rank)
		}
		out[p.node][p.file] = segs
		at += x.Size
	}
	return out, nil
}

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
