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

// celloForm is a checkpoint of Cello, or a dump: what "blobio amr convert --grids" writes of it.
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

// versionsForm is an array with versions: what "blobio versions convert" writes of it.
var versionsForm = form{name: "array with versions", stamp: arrays.Stamp, is: hasVersions, open: openVersions}

// hasVersions reports whether an array has a netCDF form: arrays of a hierarchy have none, nor encrypted ones, whose key is not known here.
// One that cannot be read has one, and opening it has the error.
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
