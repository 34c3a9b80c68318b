package tree

import (
	"context"
	"iter"

	"blobio/blob"
	"blobio/internal/par"
	"blobio/internal/vfs"
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

// Stamp is a text that changes with each file of the dataset: one that is written to, replaced, removed or put back. ID does not, which is that of the
// manifest. It costs a look at each file, and nothing is read.
func (d *Dataset) Stamp() string {
	if d.s.form != nil {
		return hash(d.s.key)
	}
	files := d.s.r.Files()
	ids := make([]string, len(files))
	par.Do(lookAtOnce, len(files), func(i int) {
		if info, err := d.t.root.Stat(files[i].Name); err == nil {
			ids[i] = vfs.Identity(info)
		}
	})
	return hash(append(ids, d.s.key)...)
}
