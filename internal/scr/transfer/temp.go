package transfer

import (
	"errors"
	"io/fs"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// createTemp begins the file of a job, in a folder that is made if it is not there. In a batch of an owner, what the
// owner left there when it was killed is replaced. Nobody may do more with the file than with its source, and with what it replaces.
func (b *batch) createTemp(j *Job) (*durable.Temp, error) {
	e := b.e
	perm := fs.FileMode(0o666)
	if j.In == nil {
		st, err := e.o.FS.Stat(j.Src)
		if err != nil {
			return nil, err
		}
		perm = st.Mode().Perm() | 0o600
	}
	switch st, err := vfs.Lstat(e.o.DstFS, j.Dst); {
	case err == nil && st.Mode().IsRegular():
		perm &= st.Mode().Perm() | 0o600
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return durable.CreateTemp(e.o.DstFS, j.Dst, durable.TempOptions{Owner: b.owner, Perm: perm, Mkdir: true, Sync: e.o.Sync})
}
