package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// A View is a part of a dataset: some variables, and of dimensions what a Subset takes. It is read as the dataset is, safe for
// concurrent use, as long as its Reader is open.
type View struct{ v *read.View }

// Schema returns what is in the part; dimensions are as long as what is taken of them. It has decompositions only if the
// dataset has the same.
func (w *View) Schema() *Schema { return &Schema{w.v.Schema} }

// Records returns the number of records of the part.
func (w *View) Records() int64 { return w.v.Records }

// Base returns the path of the dataset.
func (w *View) Base() string { return w.v.Base() }

// Header returns the header of the ordinary netCDF file of the part, without places. It must not be changed.
func (w *View) Header() *cdf5.Header { return w.v.Header() }

// Read is Reader.Read in the terms of the part.
func (w *View) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return w.v.Read(ctx, name, start, count, dst)
}

// ReadBytes is Reader.ReadBytes in the terms of the part.
func (w *View) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return w.v.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns is Reader.ReadRuns in the terms of the part.
func (w *View) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return w.v.ReadRuns(ctx, name, rec, runs, dst)
}
