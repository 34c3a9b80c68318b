package blob

import "blobio/blob/internal/dataset"

// FormatError says what is wrong with a file, and where.
type FormatError = dataset.FormatError

// Severity of a finding: it prints as "note", "warning", "error" or "unchecked".
type Severity = dataset.Severity

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

const (
	// Note: worth knowing, not wrong: elements that no rank owns, a foreign file.
	Note = dataset.Note
	// Warning: not as it should be, but every element can be read.
	Warning = dataset.Warning
	// Error: data are lost, or cannot be trusted.
	Error = dataset.Error
	// Unchecked: it cannot be judged here, since it uses what is not implemented; it may be sound.
	Unchecked = dataset.Unchecked
)
