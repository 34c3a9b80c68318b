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

// Hint says what to do about an error of the verbs of datasets.
func Hint(cmd *cobra.Command, err error) string {
	switch {
	case fault.Exhausted(err) && !errors.Is(err, syscall.ENOMEM):
		return "\"ulimit -n\" shows how many files a process may have open; it says nothing about the data"
	case errors.Is(err, blob.ErrChecksum) && cli.CouldHelp(cmd, "no-verify") && ofVariable(err):
		return "blobio check lists all faults; --no-verify takes the data as they are"
	case errors.Is(err, blob.ErrExist) && cli.CouldHelp(cmd, "force"):
		return "--force replaces it"
	case errors.Is(err, blob.ErrMissing) && cli.CouldHelp(cmd, "allow-missing"):
		return "--allow-missing reads the rest, and fill values for what is lost"
	case errors.Is(err, blob.ErrMissing):
		return "blobio check says what is there"
	case errors.Is(err, blob.ErrNotCommitted):
		return "its writer did not finish, or is still at work; blobio check says what is there"
	case errors.Is(err, blob.ErrNotFormat):
		return "blobio reads CDF-1, -2 and -5 files, netCDF-4 files (their root group), and the blob layouts of PnetCDF and HDF5"
	case errors.Is(err, blob.ErrTruncated), errors.Is(err, blob.ErrCorrupt), errors.Is(err, blob.ErrChecksum):
		if cmd.Name() != "check" && cmd.Parent() != nil && cmd.Parent().Name() != "decomp" {
			return "blobio check lists all faults"
		}
	case errors.Is(err, blob.ErrTooLarge) && cli.CouldHelp(cmd, "memory"):
		return "--memory raises it"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and its directory"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full; no file has the final name"
	}
	return ""
}

// ofVariable says that an error is about the data of a variable.
func ofVariable(err error) bool {
	var fe *blob.FormatError
	return errors.As(err, &fe) && strings.HasPrefix(fe.Field, "variable ")
}
