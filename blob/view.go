package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// A View is a part of a dataset: some variables, with the indices that a Subset selects. It is safe for concurrent use while
// its Reader is open.
type View struct{ v *read.View }

// Schema returns the schema of the part. The length of a dimension is the number of selected indices. If the Subset has a
// dimension other than the record dimension, the schema has no decompositions, because their maps are for whole arrays.
func (w *View) Schema() *Schema { return &Schema{w.v.Schema} }

// Records returns the number of records of the part.
func (w *View) Records() int64 { return w.v.Records }

// Base returns the path of the dataset.
func (w *View) Base() string { return w.v.Base() }

// Header returns the header of an ordinary netCDF file of the part, without offsets. The caller must not change it.
func (w *View) Header() *cdf5.Header { return w.v.Header() }

// Read reads a hyperslab of the part, like Reader.Read.
func (w *View) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return w.v.Read(ctx, name, start, count, dst)
}

// ReadBytes reads bytes of the part, like Reader.ReadBytes.
func (w *View) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return w.v.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns reads runs of the part, like Reader.ReadRuns.
func (w *View) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return w.v.ReadRuns(ctx, name, rec, runs, dst)
}
