package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/durable"
	"blobio/internal/fault"
)

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// hinted adds what to do about an error.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// optionRemark is how an option is called in Go, which is of no use on the command line.
var optionRemark = regexp.MustCompile(` \((?:Convert|Open|Check|Repair|Diff)?Options\.\w+ [^)]*\)`)

// errorLine says an error in one line, with a hint where its cause is typical.
func errorLine(cmd *cobra.Command, err error) string {
	if errors.Is(err, context.Canceled) && !isUnfinished(err) && !errors.As(err, new(*durable.UnsureError)) {
		return "interrupted; nothing was left half-written"
	}
	msg := errorText(err)
	var u *usageError
	if errors.As(err, &u) {
		return fmt.Sprintf("%s (see '%s --help')", msg, cmd.CommandPath())
	}
	if h := hint(cmd, err); h != "" {
		msg += " (" + h + ")"
	}
	return msg
}

// maxErrors is how many errors in one are told.
const maxErrors = 8

// plain makes a text that may come from a file, or from the name of one, fit for a line of a terminal.
func plain(s string) string { return fault.Printable(s) }

// errorText says an error in one line.
func errorText(err error) string {
	var lines []string
	more := 0
	for _, l := range strings.Split(fault.Text(err), "\n") {
		l = strings.TrimSpace(l)
		switch {
		case l == "", slices.Contains(lines, l): // several workers, or ranks, may have met the same
		case len(lines) == maxErrors:
			more++
		default:
			lines = append(lines, fault.Printable(l))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return optionRemark.ReplaceAllString(strings.Join(lines, "; "), "")
}

func hint(cmd *cobra.Command, err error) string {
	has := func(flag string) bool { // and could help, since it was not given yet
		f := cmd.Flags().Lookup(flag)
		return f != nil && (!f.Changed || f.Value.Type() != "bool")
	}
	var h *hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case isUnfinished(err):
		return "blobio recover finishes it, with -n it only says what there is to do; do not remove any file of it"
	case errors.As(err, new(*durable.UnsureError)):
		return "look whether the file under this name is the new one, and sync its file system; or write it again"
	case errors.Is(err, durable.ErrKept):
		return ""
	case errors.Is(err, blob.ErrInUse) && !inScr(cmd) && !inFF(cmd):
		return "wait for it, or end it; what a dead writer left is taken over"
	case inAmr(cmd):
		return amrHint(cmd, err)
	case inVersions(cmd):
		return versionsHint(cmd, err)
	case errors.Is(err, blob.ErrChecksum) && has("no-verify") && ofVariable(err):
		return "blobio check lists everything that is wrong; --no-verify takes the data as they are"
	case errors.Is(err, blob.ErrExist) && has("force"):
		return "--force replaces it"
	case inFF(cmd) && (isFormatError(err) || errors.Is(err, blob.ErrMissing) || errors.Is(err, blob.ErrNotCommitted)):
		return ffHint(cmd, err)
	case inScr(cmd):
		if errors.Is(err, fs.ErrPermission) {
			return "look at the permissions of the file and its directory"
		}
		return ""
	case errors.Is(err, blob.ErrMissing) && has("allow-missing"):
		return "--allow-missing reads the rest; what is lost reads as fill values"
	case errors.Is(err, blob.ErrMissing):
		return "blobio check tells what is there"
	case errors.Is(err, blob.ErrNotCommitted):
		return "its writer did not finish, or is still at work; blobio check tells what is there"
	case errors.Is(err, blob.ErrNotFormat):
		return "blobio reads CDF-1, -2 and -5 files and the blob layouts of PnetCDF and HDF5"
	case errors.Is(err, blob.ErrTruncated), errors.Is(err, blob.ErrCorrupt), errors.Is(err, blob.ErrChecksum):
		if cmd.Name() != "check" && cmd.Parent() != nil && cmd.Parent().Name() != "decomp" {
			return "blobio check lists everything that is wrong"
		}
	case errors.Is(err, blob.ErrTooLarge) && has("memory"):
		return "--memory raises it"
	case errors.Is(err, fs.ErrPermission):
		return "look at the permissions of the file and its directory"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full; nothing was left under the final name"
	}
	return ""
}

// isUnfinished says of an error that the output is, or may be, committed.
func isUnfinished(err error) bool {
	return errors.As(err, new(*blob.UnfinishedError)) || errors.As(err, new(*blob.InDoubtError))
}

// ofVariable says that an error is about the data of a variable.
func ofVariable(err error) bool {
	var fe *blob.FormatError
	return errors.As(err, &fe) && strings.HasPrefix(fe.Field, "variable ")
}

// inScr says that a command is a verb of scr.
func inScr(cmd *cobra.Command) bool { return cmd.Parent() != nil && cmd.Parent().Name() == "scr" }

// isFormatError says that err is about the content of a file.
func isFormatError(err error) bool {
	for _, class := range []error{blob.ErrNotFormat, blob.ErrTruncated, blob.ErrCorrupt, blob.ErrChecksum} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
