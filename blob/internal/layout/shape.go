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

// NumrecsAt is the offset of the record count in a CDF-5 header, after the magic; it is 8 bytes long.
const (
	NumrecsAt  = 4
	NumrecsLen = 8
)

// DimBlobs is the dimension after the canonical ones. Its length is the number of blobs. The dimensions of the maps follow.
const DimBlobs = "nblobs"

// The five variables of a map, in order: Dk.nreqs, Dk.blob_start, ...
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
	Subfiles int     // of the dataset
	Blobs    int     // of this subfile
	Elems    []int64 // by map from 0: elements in this subfile; the dimension is at least 1
	MaxReqs  []int64 // by map from 0: maximum number of requests of a blob; the dimension is at least 1
	Wide     []bool  // by map from 0: Dk.offsets is int64
	Chunk    int64   // bytes of a chunk of a compressed subfile; otherwise 0
}

// OffsetSize returns the size of an entry of Dk.offsets in bytes, d from 0.
func (s *Shape) OffsetSize(d int) int64 {
	if s.Wide != nil && s.Wide[d] {
		return 8
	}
	return 4
}

// listSize returns the size of an element of list m, offsets or lengths, of map d from 0.
func (s *Shape) listSize(d, m int) int64 {
	if m == MapOffsets {
		return s.OffsetSize(d)
	}
	return 4
}

// AtLeast1 is the length of a map's dimension. Length 0 would mean "unlimited" in CDF, so a subfile without elements of a map
// gets dimensions of length 1; blob_count and nreqs show that the element does not exist. (The reference aborts, or writes 0.)
func AtLeast1(n int64) int64 { return max(n, 1) }
