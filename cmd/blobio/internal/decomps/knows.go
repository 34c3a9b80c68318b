package decomps

import (
	"context"
	"errors"
	"os"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp/mapfile"
	"blobio/internal/base/vfs"
)

// Knows reports whether a path is a map file but not a dataset: PIO text, HDF5 or netCDF-4.
func Knows(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if b, err := vfs.ReadStream(path, 3); err == nil || string(b) == "CDF" {
		return false // too short for a map file, or a dataset
	}
	if r, err := blob.Open(context.Background(), path, &blob.OpenOptions{AllowMissing: true}); err == nil {
		r.Close()
		return false
	} else if !errors.Is(err, blob.ErrNotFormat) {
		return false
	}
	_, err := mapfile.Open(path)
	return !errors.Is(err, blob.ErrNotFormat) && !errors.Is(err, blob.ErrUnsupported)
}

// KnowsCDF reports whether a path is a CDF file of maps, which is also an ordinary netCDF file.
func KnowsCDF(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, err := blob.Open(context.Background(), path, &blob.OpenOptions{AllowMissing: true})
	if err != nil {
		return false
	}
	defer r.Close()
	return r.Form().Layout == blob.Canonical && slices.ContainsFunc(r.Schema().Dims(), func(d cdf5.Dim) bool { return d.Name == "decomp_nprocs" })
}
