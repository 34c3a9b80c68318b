package blob

import "blobio/cdf5"

// Names of the two datasets of a process-centric subfile.
const (
	headerBlob = "header_blob"
	dataBlob   = "data_blob"
)

// dataAlign is where data_blob begins: at a page, so that direct I/O is possible.
const dataAlign = 4096

// indexAlign is where the index of a compressed subfile begins.
const indexAlign = 8

// numrecsAt is the offset of the record count in a CDF-5 header, after the
// magic; it is 8 bytes long.
const (
	numrecsAt  = 4
	numrecsLen = 8
)

// dimBlobs is the dimension behind the canonical ones, how many blobs there are; those of the maps follow.
const dimBlobs = "nblobs"

// The five variables of a map, in order: Dk.nreqs, Dk.blob_start, ...
const (
	mapNreqs = iota
	mapStart
	mapCount
	mapOffsets
	mapLengths
	mapVars // how many
)

var mapVarDefs = [mapVars]struct {
	name, descr string
	typ         cdf5.Type
}{
	{"nreqs", "Number of noncontiguous requests in individual blobs", cdf5.Int},
	{"blob_start", "Starting array indices of individual blobs stored in a variable", cdf5.Int64},
	{"blob_count", "Number of contiguous array elements in individual blobs stored in a variable", cdf5.Int64},
	{"offsets", "Starting indices of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
	{"lengths", "Number of elements of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
}

// shape of one subfile: what its header says beyond the schema.
type subShape struct {
	ranks    int     // world size
	subfiles int     // of the dataset
	nblobs   int     // of this subfile
	nelems   []int64 // by map from 0: elements in this subfile; the dimension is at least 1
	maxReqs  []int64 // by map from 0: most requests of a blob; the dimension is at least 1
	wide     []bool  // by map from 0: Dk.offsets is int64
	chunk    int64   // of a compressed subfile: bytes of a chunk; else 0
}

// Header lengths of 0 would mean "unlimited" in CDF, so a subfile that holds
// nothing of a map gets dimensions of length 1. blob_count and nreqs say that
// the one element is not there. (The reference aborts, or writes 0.)
func atLeast1(n int64) int64 { return max(n, 1) }
