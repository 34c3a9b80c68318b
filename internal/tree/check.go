package tree

import (
	"context"
	"iter"

	"blobio/blob"
)

// Check is blob.Check of the dataset of a path, with no file outside of the root.
func (t *Tree) Check(ctx context.Context, path string, o blob.CheckOptions) (iter.Seq[blob.Finding], error) {
	name, _, _, err := t.look("check", path)
	if err != nil {
		return nil, err
	}
	o.FS = t.fs
	return blob.Check(ctx, name, &o), nil
}
