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

// Check is blob.Check for the dataset of a path, with no file outside the root. It finds nothing in a netCDF form. Errors that
// prevent reading a form are reported when the form is opened.
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

// Stamp returns a text that changes when any file of the dataset is written, replaced, removed or restored. In contrast, ID
// depends only on the manifest. Stamp calls stat on each file, and reads nothing.
func (d *Dataset) Stamp() string {
	ids := []string{d.s.key}
	infos, _ := d.infos() // an inaccessible file counts as missing
	for _, info := range infos {
		if info == nil {
			ids = append(ids, "")
		} else {
			ids = append(ids, vfs.Identity(info))
		}
	}
	return hash(ids...)
}

// Denied returns a subfile that a user may not read by its permissions, or whose permissions are unreadable; "" if there is no
// such subfile. The user belongs to groups and is not root.
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

// infos calls stat on the files of a blob dataset. The info is nil for a missing and for an inaccessible file. bad is the name of
// an inaccessible file.
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
