package netcdf4

import (
	"math"

	"blobio/internal/base/chunks"
	"blobio/internal/base/h5"
)

// geometry describes the chunk grid of a dataset. full and part describe the same grid with fewer dimensions, because a dimension
// that fits into one chunk is merged with the dimension before it.
type geometry struct {
	record     bool
	size       int64 // bytes per element
	per        int64 // elements per record
	dims       []int64
	chunk      []int64 // nil if the data are not chunked
	counts     []int64 // number of chunks along each dimension
	full, part []int64 // dims and chunk with merged dimensions
	chunkBytes int64   // maximum size of the part of a chunk that is inside the array
}

func newGeometry(d *h5.Dataset, record bool) geometry {
	g := geometry{record: record, size: d.Type().Size(), dims: d.Dims(), per: 1}
	for i, n := range g.dims {
		if i > 0 || !record {
			g.per *= n // cannot overflow: Dataset checks the product
		}
	}
	if d.Storage() != h5.Chunked {
		return g
	}
	g.chunk = d.ChunkDims()
	g.chunkBytes = g.size
	for i, c := range g.chunk {
		g.counts = append(g.counts, (g.dims[i]+c-1)/c)
		if k := max(min(c, g.dims[i]), 1); g.chunkBytes > math.MaxInt64/k {
			g.chunkBytes = math.MaxInt64
		} else {
			g.chunkBytes *= k
		}
	}
	for i := len(g.dims) - 1; i >= 0; i-- {
		n, c := g.dims[i], min(g.chunk[i], max(g.dims[i], 1))
		if len(g.full) > 0 && g.part[0] == g.full[0] {
			g.full[0] *= n
			g.part[0] *= c
			continue
		}
		g.full, g.part = append([]int64{n}, g.full...), append([]int64{c}, g.part...)
	}
	return g
}

// spot is the position of an element: the chunk, the offset in that part of the chunk that is inside the array, and the number of
// elements from there that are contiguous.
type spot struct{ chunk, off, run int64 }

// locate finds the element with index at in the flattened array.
func (g *geometry) locate(at int64) (s spot) {
	stride, chunks := int64(1), int64(1)
	for i := len(g.full) - 1; i >= 0; i-- {
		n, c := g.full[i], g.part[i]
		x := at % n
		at /= n
		k := x / c
		length := min(c, n-k*c)
		s.chunk += k * chunks
		s.off += (x - k*c) * stride
		if i == len(g.full)-1 {
			s.run = length - (x - k*c)
		}
		stride *= length
		chunks *= (n + c - 1) / c
	}
	return s
}

// region returns the part of chunk k that is inside the array.
func (g *geometry) region(k int64) (start, count []int64) {
	return chunks.Grid{Full: g.dims, Chunk: g.chunk}.Region(chunks.Index(k, g.counts))
}
