package dataset

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/base/fault"
	"blobio/internal/cli"
)

// Hint returns advice about an error of a dataset verb.
func Hint(cmd *cobra.Command, err error) string {
	switch {
	case fault.Exhausted(err) && !errors.Is(err, syscall.ENOMEM):
		return "\"ulimit -n\" shows the limit of open files; the data may be intact"
	case errors.Is(err, blob.ErrChecksum) && cli.CouldHelp(cmd, "no-verify") && ofVariable(err):
		return "blobio check lists all faults; --no-verify reads the data without verifying checksums"
	case errors.Is(err, blob.ErrExist) && cli.CouldHelp(cmd, "force"):
		return "--force replaces the output"
	case errors.Is(err, blob.ErrMissing) && cli.CouldHelp(cmd, "allow-missing"):
		return "--allow-missing reads the other subfiles, and fill values for lost elements"
	case errors.Is(err, blob.ErrMissing):
		return "blobio check lists the existing files"
	case errors.Is(err, blob.ErrNotCommitted):
		return "its writer died or is still running; blobio check lists the existing files"
	case errors.Is(err, blob.ErrNotFormat):
		return "blobio reads CDF-1, CDF-2 and CDF-5 files, the root group of netCDF-4 files, and the blob layouts of PnetCDF and HDF5"
	case errors.Is(err, blob.ErrTruncated), errors.Is(err, blob.ErrCorrupt), errors.Is(err, blob.ErrChecksum):
		if cmd.Name() != "check" && cmd.Parent() != nil && cmd.Parent().Name() != "decomp" {
			return "blobio check lists all faults"
		}
	case errors.Is(err, blob.ErrTooLarge) && cli.CouldHelp(cmd, "memory"):
		return "--memory raises the limit"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its directory"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full; no output was written under its final name"
	}
	return ""
}

// ofVariable reports whether an error is about the data of a variable.
func ofVariable(err error) bool {
	var fe *blob.FormatError
	return errors.As(err, &fe) && strings.HasPrefix(fe.Field, "variable ")
}
