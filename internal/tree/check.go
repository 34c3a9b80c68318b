package tree

import (
	"context"
	"iter"

	"blobio/blob"
)

// Check is blob.Check of the dataset of a path, with no file outside of the root. It finds nothing in what has a netCDF form: what keeps that
// from being read as a whole shows when it is opened.
func (t *Tree) Check(ctx context.Context, path string, o blob.CheckOptions) (iter.Seq[blob.Finding], error) {
	name, _, st, err := t.look("check", path)
	if err != nil {
		return nil, err
	}
	if st.form != nil {
		return func(func(blob.Finding) bool) {}, nil
	}
	o.FS = t.fs
	return blob.Check(ctx, name, &o), nil
}
