package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// A View is a part of a dataset: some variables, with the indices that a Subset selects. It is safe for concurrent use while its
// Reader is open.
type View struct{ v *read.View }

// Schema returns the schema of the part. Dimensions have the number of selected indices as length. The schema has decompositions
// only if they are equal to the maps of the dataset.
func (w *View) Schema() *Schema { return &Schema{w.v.Schema} }

// Records returns the number of records of the part.
func (w *View) Records() int64 { return w.v.Records }

// Base returns the path of the dataset.
func (w *View) Base() string { return w.v.Base() }

// Header returns the header that an ordinary netCDF file of the part would have, without offsets. The caller must not change it.
func (w *View) Header() *cdf5.Header { return w.v.Header() }

// Read is Reader.Read on the part.
func (w *View) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return w.v.Read(ctx, name, start, count, dst)
}

// ReadBytes is Reader.ReadBytes on the part.
func (w *View) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return w.v.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns is Reader.ReadRuns on the part.
func (w *View) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return w.v.ReadRuns(ctx, name, rec, runs, dst)
}
