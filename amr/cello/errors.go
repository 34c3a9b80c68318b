package cello

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
)

// Error is the Severity of a Finding that cannot be read, or is wrong; with ForRestart also of what cannot be restarted
// from. Lower ones print as "note" (worth knowing) and "warning" (readable, but not as the format wants it, or of doubtful
// content).
const Error = fault.Error

const (
	note    = fault.Note
	warning = fault.Warning
)

// Finding is one thing that Verify found: File is below the directory, "" for the whole; Block is the name of a block, ""
// for the file; Effect is what the real program does with it, if that is known.
type Finding = fault.Finding

// spot is the place of a finding.
type spot struct{ file, block, field string }

// finding makes one, with the text of the error if format is empty.
func finding(s fault.Severity, at spot, err error, effect, format string, args ...any) Finding {
	d := Finding{Offset: -1, Severity: s, File: at.file, Block: at.block, Field: at.field, Effect: effect, Err: err}
	if format == "" {
		d.Msg = err.Error()
	} else {
		d.Msg = fmt.Sprintf(format, args...)
	}
	return d
}

// asError makes an error of a finding.
func asError(f *Finding) error {
	if fe, ok := f.Err.(*FormatError); ok && f.Msg == fe.Error() {
		return fe
	}
	return f.AsError()
}

// Effects of bad input on the real program, as runs showed them.
const (
	hangs      = "hangs"
	aborts     = "aborts"
	crashes    = "crashes"
	runsWrong  = "runs on with wrong data, without a message"
	writesHang = "reads the checkpoint, but hangs when it writes a similar one"
)

// FormatError says what is wrong with a file of a checkpoint, and where.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	// ErrExist: the directory (or a file of its name) is there already.
	ErrExist = fault.ErrExist
	// ErrInUse: another program is writing the same checkpoint.
	ErrInUse = fault.ErrInUse
	// ErrMissing: a file, group, attribute or dataset that the lists name is not there.
	ErrMissing = fault.ErrMissing
	// ErrNotFormat: the directory is no checkpoint.
	ErrNotFormat = fault.ErrNotFormat
	// ErrNotCommitted: the directory is one that a writer has not finished.
	ErrNotCommitted = fault.ErrNotCommitted
	// ErrTruncated: a file ends too early.
	ErrTruncated = fault.ErrTruncated
	// ErrCorrupt: a value that the format forbids.
	ErrCorrupt = fault.ErrCorrupt
	// ErrChecksum: bytes differ from what the manifest says.
	ErrChecksum = fault.ErrChecksum
	// ErrTooLarge: a length is over the cap that protects memory.
	ErrTooLarge = fault.ErrTooLarge
	// ErrUsage: an argument is wrong.
	ErrUsage = fault.ErrUsage
	// ErrScrambled: the real program stored the cells of this field wrongly (blocks
	// that are not cubic, without ghosts); they cannot be put right.
	ErrScrambled = errors.New("scrambled by the program that wrote it")
	// ErrUnfit: the real program cannot restart from this, or goes wrong, though it is right here.
	ErrUnfit = errors.New("unfit for a restart of the program")
	// ErrDump: a data dump, not a checkpoint: it cannot be restarted from.
	ErrDump = errors.New("a data dump, not a checkpoint")
	// ErrProtocol: a counter of the restart protocol came out wrong.
	ErrProtocol = errors.New("restart protocol violated")
)
