package mount

import (
	"errors"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/diary"
)

// ErrUnavailable is in the chain of the error of New if this machine, or this user, cannot mount anything.
var ErrUnavailable = errors.New("mounting is not possible here")

// Options of New. The zero value, or nil, means the defaults.
type Options struct {
	Version      cdf5.Version      // of the netCDF files; default CDF5
	OnlyDatasets bool              // hide other files; without it they are passed through
	AllowOther   bool              // let other users in, within the permissions of the files
	Verify       blob.Verification // which checksums reading compares; default VerifyOnce
	Memory       int64             // cap of cached data and of data read ahead, in bytes, at least 16 MiB; default 256 MiB; long reads of checkpoints and versions keep up to 136 MiB more
	Workers      int               // concurrent reads of each dataset; default GOMAXPROCS
	AllowMissing bool              // what is missing reads as fill values; without it, reading it fails
	ZeroFill     bool              // elements that no blob covers are zeros instead of fill values
	Log          *diary.Diary      // takes a line for each error that a program got, and of many like it the number; nil: none
}
