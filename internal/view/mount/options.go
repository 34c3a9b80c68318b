package mount

import (
	"errors"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/diary"
)

// ErrUnavailable is in the chain of New's error if this machine or user cannot mount anything.
var ErrUnavailable = errors.New("mounting is not possible here")

// Options are the options of New. The zero value, or nil, means the defaults.
type Options struct {
	Version      cdf5.Version      // version of the netCDF files; default CDF5
	OnlyDatasets bool              // hide other files instead of passing them through
	AllowOther   bool              // give access to other users, within the permissions of the files
	Verify       blob.Verification // which checksums reads compare; default VerifyOnce
	Memory       int64             // limit of cache and read-ahead, in bytes, at least 16 MiB; default 256 MiB; long reads of checkpoints and versions take up to 136 MiB more
	Workers      int               // concurrent reads of each dataset; default GOMAXPROCS
	AllowMissing bool              // missing data read as fill values; otherwise reading them fails
	ZeroFill     bool              // elements that no blob covers are zeros instead of fill values
	Log          *diary.Diary      // gets a line for each error returned to a program, or the number of similar errors; nil: none
}
