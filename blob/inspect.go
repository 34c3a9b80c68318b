package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
	"iter"
)

// Inspector shows how the files of a dataset store it: offsets, blobs and headers. Programs that only read values do not need
// it. An Inspector is safe for concurrent use while its Reader is open.
type Inspector struct{ r *read.Reader }

// File is one file of a dataset.
type File = read.File

// Extent is a range of a file with one kind of content.
type Extent = read.Extent

// Blob is the data of one rank in one record of a variable.
type Blob = read.Blob

// Spot is the position of one element of a variable.
type Spot = read.Spot

// Files lists the files of the dataset without opening them.
func (x *Inspector) Files() []File { return x.r.Now().Data.List() }

// Extents yields all extents of the dataset's files, file by file, in the order of offsets. For a compressed file the order is
// the order of the uncompressed file. Its index contains Dk.nreqs, Dk.blob_start and Dk.blob_count, and is not an extent. A
// variable without a decomposition has one extent in each subfile, with rank -1. For a netCDF-4 file Extents yields the chunks
// or the contiguous data of each variable.
func (x *Inspector) Extents(ctx context.Context) iter.Seq2[Extent, error] {
	return x.r.Now().Data.Extents(ctx)
}

// StoredHeader returns the header as a file of the dataset stores it (see Files). In blob layouts it includes the map
// variables, the dimensions of blobs and the attributes that the layout adds. The caller must not change it.
func (x *Inspector) StoredHeader(f File) (*cdf5.Header, error) { return x.r.Now().Data.StoredHeader(f) }

// StoredMap returns the part of decomposition d that a file of the dataset stores (see Files). For each blob it has
// Dk.blob_start and Dk.blob_count, and its requests: Dk.nreqs pairs of Dk.offsets and Dk.lengths. Only blob layouts have
// decompositions.
func (x *Inspector) StoredMap(ctx context.Context, f File, d DecompID) (start, count []int64, lists [][]decomp.Req, err error) {
	return x.r.Now().Maps.StoredMap(ctx, f, d)
}

// Blobs yields the raw blobs of one record of a decomposed variable in the order of the files. The caller may keep the slices.
func (x *Inspector) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	return x.r.Now().Elems.Blobs(ctx, name, rec)
}

// RankBlob reads the blob of one rank in one record of a decomposed variable, and reads no other blob. rank is Blob.Rank as
// returned by Blobs.
func (x *Inspector) RankBlob(ctx context.Context, name string, rec int64, rank int) (Blob, error) {
	return x.r.Now().Elems.RankBlob(ctx, name, rec, rank)
}

// Where finds one element by its indices, slowest dimension first, including the record. It returns nil if no rank owns the
// element, and ErrMissing if the element's subfile is missing.
func (x *Inspector) Where(ctx context.Context, name string, index []int64) (*Spot, error) {
	return x.r.Now().Elems.Where(ctx, name, index)
}
