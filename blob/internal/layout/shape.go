package layout

import "blobio/cdf5"

// Names of the two datasets of a process-centric subfile.
const (
	HeaderBlob = "header_blob"
	DataBlob   = "data_blob"
)

// dataAlign is the alignment of data_blob: a page, so that direct I/O is possible.
const dataAlign = 4096

// indexAlign is the alignment of the index of a compressed subfile.
const indexAlign = 8

// NumrecsAt is the offset of the number of records in a CDF-5 header, after the magic. The number has 8 bytes.
const (
	NumrecsAt  = 4
	NumrecsLen = 8
)

// DimBlobs is the dimension that follows the canonical dimensions. Its length is the number of blobs. The dimensions of the
// maps come after it.
const DimBlobs = "nblobs"

// The five variables of a map, in this order: Dk.nreqs, Dk.blob_start, ...
const (
	MapNreqs = iota
	MapStart
	MapCount
	MapOffsets
	MapLengths
	MapVars // number of variables of a map
)

var MapVarDefs = [MapVars]struct {
	Name, Descr string
	Type        cdf5.Type
}{
	{"nreqs", "Number of noncontiguous requests in individual blobs", cdf5.Int},
	{"blob_start", "Starting array indices of individual blobs stored in a variable", cdf5.Int64},
	{"blob_count", "Number of contiguous array elements in individual blobs stored in a variable", cdf5.Int64},
	{"offsets", "Starting indices of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
	{"lengths", "Number of elements of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
}

// Shape is the part of a subfile's header that is not in the schema.
type Shape struct {
	Ranks    int     // number of ranks
	Subfiles int     // number of subfiles of the dataset
	Blobs    int     // number of blobs of this subfile
	Elems    []int64 // by map: number of elements in this subfile; the length of the dimension is this number, but at least 1
	MaxReqs  []int64 // by map: maximum number of requests of a blob; the length of the dimension is this number, but at least 1
	Wide     []bool  // by map: Dk.offsets is int64
	Chunk    int64   // bytes of a chunk, if the subfile is compressed
}

// OffsetSize returns the size in bytes of an entry of Dk.offsets for map d, counted from 0.
func (s *Shape) OffsetSize(d int) int64 {
	if s.Wide != nil && s.Wide[d] {
		return 8
	}
	return 4
}

// listSize returns the size of an element of list m (offsets or lengths) of map d, counted from 0.
func (s *Shape) listSize(d, m int) int64 {
	if m == MapOffsets {
		return s.OffsetSize(d)
	}
	return 4
}

// AtLeast1 returns the length of a map's dimension. In CDF, length 0 would mean "unlimited", so a subfile without elements of
// a map has dimensions of length 1. Its blob_count and nreqs show that the element does not exist. (E3SM-IO aborts, or writes
// 0.)
func AtLeast1(n int64) int64 { return max(n, 1) }
