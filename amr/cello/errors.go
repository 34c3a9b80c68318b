package cello

import (
	"errors"

	"blobio/internal/base/fault"
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
