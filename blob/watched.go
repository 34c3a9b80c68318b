package blob

import (
	"blobio/internal/vfs"
	"blobio/subfile"
)

// watched is the file system that a reader opens subfiles in. They are opened when they are needed, and again when too
// many were open; another dataset may have taken their names meanwhile, with a header that is the same byte for byte. So
// each file that is opened is looked at twice: with the manifest still the one that the reader knows, it is that
// dataset's. (What another program wrote has no manifest, and cannot be told apart.)
type watched struct {
	vfs.FS
	r *Reader
}

func (w watched) Open(name string) (vfs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return f, err
	}
	if err := w.r.replaced(name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// replaced says so if a subfile's name may be that of another dataset by now.
func (r *Reader) replaced(name string) error {
	if r.manifest == nil || r.manifest.ID == "" {
		return nil
	}
	id, err := subfile.PeekID(r.opt.fs, r.base)
	if err == nil && id != "" && id != r.manifest.ID {
		err = formatErr(name, -1, "file", ErrBroken, "of another dataset: %s was replaced since it was opened", r.base)
	}
	return err
}
