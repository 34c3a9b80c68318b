package blob

import "blobio/blob/internal/dataset"

// FormatError says what is wrong with a file, and where.
type FormatError = dataset.FormatError

// A Finding is one thing that Check or Diff found.
type Finding = dataset.Finding

// Errors that this package returns, for errors.Is.
var (
	// Reading: the file is damaged, or not what it should be.
	ErrTruncated   = dataset.ErrTruncated
	ErrChecksum    = dataset.ErrChecksum
	ErrCorrupt     = dataset.ErrCorrupt
	ErrVersion     = dataset.ErrVersion
	ErrUnsupported = dataset.ErrUnsupported
	ErrNotFormat   = dataset.ErrNotFormat
	// Opening and creating: the state of the dataset forbids it.
	ErrNotCommitted = dataset.ErrNotCommitted
	ErrMissing      = dataset.ErrMissing
	ErrExist        = dataset.ErrExist
	ErrMapMismatch  = dataset.ErrMapMismatch
	ErrInUse        = dataset.ErrInUse
	// Using: the call is wrong, or an earlier one failed.
	ErrUsage    = dataset.ErrUsage
	ErrRange    = dataset.ErrRange
	ErrTooLarge = dataset.ErrTooLarge
	ErrBroken   = dataset.ErrBroken
)

// Severities of a Finding, in their order: Note, "warning" (not as it should be, but every element can be read), Error, "unchecked" (it cannot be judged
// here, since it uses what is not implemented; it may be sound). Above Note something is wrong or unknown; from Error on data may be lost.
const (
	Note  = dataset.Note  // worth knowing, not wrong: elements that no rank owns, a foreign file
	Error = dataset.Error // data are lost, or cannot be trusted
)
