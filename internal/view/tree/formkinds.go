package tree

import (
	"context"
	"errors"

	"blobio/amr/cello"
	"blobio/internal/amr/cellodir"
	"blobio/internal/amr/netcdf"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

// celloForm is a Cello checkpoint or dump, as written by "blobio amr convert --grids".
var celloForm = form{name: "checkpoint of Cello", stamp: cellodir.Stamp, open: openCello}

type celloSource struct {
	*netcdf.File
	k *cello.Checkpoint
}

func (s celloSource) Close() error { return s.k.Close() }

func openCello(ctx context.Context, o *formOptions) (source, error) {
	k, err := cello.Open(ctx, o.dir, &cello.OpenOptions{FS: o.fs, NoVerify: !o.verify})
	if err != nil {
		return nil, err
	}
	f, err := netcdf.New(ctx, k, &netcdf.Part{Grids: true}, o.memory)
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return celloSource{f, k}, nil
}

// versionsForm is an array with versions, as written by "blobio versions convert".
var versionsForm = form{name: "array with versions", stamp: arrays.Stamp, is: hasVersions, open: openVersions}

// hasVersions reports whether an array has a netCDF form. Arrays of a hierarchy and encrypted arrays, whose key is unknown here,
// have none. An unreadable array has a form whose opening reports the error.
func hasVersions(dir string, fsys vfs.FS) (bool, error) {
	s, err := openVersions(context.Background(), &formOptions{fs: fsys, dir: dir})
	if err == nil {
		return s.Close() == nil, nil
	}
	if err := exhausted(err); err != nil {
		return false, err
	}
	for _, class := range []error{versioned.ErrNotFormat, versioned.ErrMissing, versioned.ErrNoForm, versioned.ErrKey} {
		if errors.Is(err, class) {
			return false, nil
		}
	}
	return true, nil
}

type versionsSource struct {
	*versioned.File
	v *versioned.View
}

func (s versionsSource) Close() error { return s.v.Close() }

func openVersions(_ context.Context, o *formOptions) (source, error) {
	v, err := versioned.OpenView(o.dir, o.fs, nil)
	if err != nil {
		return nil, err
	}
	f, err := v.NetCDF(o.memory)
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return versionsSource{f, v}, nil
}
