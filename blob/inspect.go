package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
	"iter"
)

// An Inspector shows how the files of a dataset hold it: places, blobs and headers as they are stored, which reading values does not need.
// It is safe for concurrent use, as long as its Reader is open.
type Inspector struct{ r *read.Reader }

// A File is one file of a dataset.
type File = read.File

// An Extent is a piece of a file and what it holds.
type Extent = read.Extent

// A Blob is what one rank wrote of one record of a variable.
type Blob = read.Blob

// A Spot says where one element of a variable lies.
type Spot = read.Spot

// Files lists the files of the dataset, without opening them.
func (x *Inspector) Files() []File { return x.r.Now().Data.List() }

// Extents walks over everything that the dataset's files hold: file by file, in
// the order of the bytes in the file; if they are compressed, in the order of a plain file, and the index, which is
// no extent, has Dk.nreqs, Dk.blob_start and Dk.blob_count. A variable that is not
// decomposed is one extent of each subfile, with rank -1. Of a netCDF-4 file it is the chunks, or all of the data, by variable.
func (x *Inspector) Extents(ctx context.Context) iter.Seq2[Extent, error] {
	return x.r.Now().Data.Extents(ctx)
}

// StoredHeader returns the header of a file of the dataset (see Files) as it is stored: in blob layouts with the map variables, the dimensions of blobs
// and what the layout adds to attributes. It must not be changed.
func (x *Inspector) StoredHeader(f File) (*cdf5.Header, error) { return x.r.Now().Data.StoredHeader(f) }

// StoredMap returns what a file of the dataset (see Files) holds of decomposition d, by blob: Dk.blob_start, Dk.blob_count and the requests, which are
// Dk.offsets and Dk.lengths and as many as Dk.nreqs says. Datasets that are not of blobs have no decompositions.
func (x *Inspector) StoredMap(ctx context.Context, f File, d DecompID) (start, count []int64, lists [][]decomp.Req, err error) {
	return x.r.Now().Maps.StoredMap(ctx, f, d)
}

// Blobs walks over the raw blobs of one record of a decomposed variable in the
// order of the files. The slices are the caller's to keep.
func (x *Inspector) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	return x.r.Now().Elems.Blobs(ctx, name, rec)
}

// RankBlob reads what one rank wrote of one record of a decomposed variable: the
// blob that Blobs would give as number rank, without reading the others.
func (x *Inspector) RankBlob(ctx context.Context, name string, rec int64, rank int) (Blob, error) {
	return x.r.Now().Elems.RankBlob(ctx, name, rec, rank)
}

// Where finds one element by its indices, slowest dimension first, the record included. It returns nil if nobody wrote
// the element; a subfile that is not there is ErrMissing.
func (x *Inspector) Where(ctx context.Context, name string, index []int64) (*Spot, error) {
	return x.r.Now().Elems.Where(ctx, name, index)
}
