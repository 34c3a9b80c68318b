package tree

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"

	"blobio/blob"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
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

// Stamp is a text that changes with each file of the dataset: one that is written to, replaced, removed or put back. ID follows the manifest
// alone. Stamp costs a stat of each file, and reads nothing.
func (d *Dataset) Stamp() string {
	ids := []string{d.s.key}
	infos, _ := d.infos() // what cannot be looked at is like what is not there
	for _, info := range infos {
		if info == nil {
			ids = append(ids, "")
		} else {
			ids = append(ids, vfs.Identity(info))
		}
	}
	return hash(ids...)
}

// Denied names a subfile that a user may not read by its permissions, or whose permissions cannot be seen; "" if there is none. The user is none with the rights of root, and is in groups.
func (d *Dataset) Denied(user uint32, groups []uint32) string {
	infos, bad := d.infos()
	if bad != "" {
		return bad
	}
	for _, info := range infos {
		if info == nil {
			continue
		}
		bit := fs.FileMode(0o004)
		if owner, group := vfs.Owner(info); owner == user {
			bit = 0o400
		} else if slices.Contains(groups, group) {
			bit = 0o040
		}
		if info.Mode()&bit == 0 {
			return info.Name()
		}
	}
	return ""
}

// infos looks at the files of a dataset of blobs. Of one that is not there it is nil, and of one that cannot be looked at, which bad names.
func (d *Dataset) infos() (infos []fs.FileInfo, bad string) {
	if d.s.form != nil {
		return nil, ""
	}
	files := d.s.r.Inspect().Files()
	infos = make([]fs.FileInfo, len(files))
	errs := make([]error, len(files))
	par.Do(lookAtOnce, len(files), func(i int) {
		if info, err := d.t.root.Stat(files[i].Name); err == nil {
			infos[i] = info
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs[i] = err
		}
	})
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		bad = files[i].Name
	}
	return infos, bad
}
