package cello

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/base/fault"
)

// Error is the Severity of a finding about unreadable or wrong content. With ForRestart, findings that prevent a restart have it
// too. Lower severities are "warning" (readable, but against the format or with doubtful content) and "note".
const Error = fault.Error

const (
	note    = fault.Note
	warning = fault.Warning
)

// Finding is one finding of Verify. File is the path below the directory, or "" if the finding concerns the whole directory.
// Block is the name of a block, or "" if the finding concerns the whole file. Effect is the effect on Enzo-E, if known.
type Finding = fault.Finding

// spot is the position of a finding.
type spot struct{ file, block, field string }

// finding makes a Finding. If format is empty, the text is that of err, without the name of the file.
func finding(s fault.Severity, at spot, err error, effect, format string, args ...any) Finding {
	d := Finding{Offset: -1, Severity: s, File: at.file, Block: at.block, Field: at.field, Effect: effect, Err: err}
	var fe *FormatError
	switch {
	case format != "":
		d.Msg = fmt.Sprintf(format, args...)
	case errors.Is(err, fs.ErrNotExist):
		d.Msg, d.Err = "no such file", ErrMissing
	case errors.As(err, &fe) && filepath.Base(fe.File) == at.file:
		d.Offset, d.Msg, d.Found, d.Wanted, d.Err = fe.Offset, fe.Msg, fe.Found, fe.Wanted, fe.Err
		d.Field = strings.TrimSpace(at.field + " " + fe.Field)
	default:
		d.Msg = err.Error()
	}
	return d
}

// asError converts a finding to an error.
func asError(f *Finding) error {
	if fe, ok := f.Err.(*FormatError); ok && f.Msg == fe.Error() {
		return fe
	}
	return f.AsError()
}

// Effects of bad input on Enzo-E, as observed in runs.
const (
	hangs      = "hangs"
	aborts     = "aborts"
	crashes    = "crashes"
	runsWrong  = "runs on with wrong data, without a message"
	writesHang = "reads the checkpoint, but hangs when it writes a similar one"
)

// FormatError describes a fault in a file of a checkpoint and its position.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	// ErrExist means that a directory or file of this name already exists.
	ErrExist = fault.ErrExist
	// ErrInUse means that another program is writing the same checkpoint.
	ErrInUse = fault.ErrInUse
	// ErrMissing means that a file, group, attribute or dataset named by the lists is missing.
	ErrMissing = fault.ErrMissing
	// ErrNotFormat means that the directory is not a checkpoint.
	ErrNotFormat = fault.ErrNotFormat
	// ErrNotCommitted means that a writer has not finished the directory.
	ErrNotCommitted = fault.ErrNotCommitted
	// ErrTruncated means that a file ends too early.
	ErrTruncated = fault.ErrTruncated
	// ErrCorrupt means that a file has a value which the format forbids.
	ErrCorrupt = fault.ErrCorrupt
	// ErrChecksum means that bytes do not match the manifest's checksum.
	ErrChecksum = fault.ErrChecksum
	// ErrTooLarge means that a length exceeds a limit, which protects the reader's memory.
	ErrTooLarge = fault.ErrTooLarge
	// ErrUsage means that an argument is wrong.
	ErrUsage = fault.ErrUsage
	// ErrScrambled means that Enzo-E stored the cells of this field in wrong places (non-cubic blocks without ghosts). They cannot
	// be recovered.
	ErrScrambled = errors.New("scrambled by the program that wrote it")
	// ErrUnfit means that this package reads the checkpoint correctly, but that Enzo-E cannot restart from it or would read wrong
	// data.
	ErrUnfit = errors.New("unfit for a restart of the program")
	// ErrDump means that the directory is a data dump, which does not allow a restart.
	ErrDump = errors.New("a data dump, not a checkpoint")
	// ErrProtocol means that a counter of the restart protocol has a wrong value.
	ErrProtocol = errors.New("restart protocol violated")
)
