package blob

import "blobio/blob/internal/dataset"

// FormatError describes a fault of a file and its place.
type FormatError = dataset.FormatError

// Finding is one result of Check or Diff.
type Finding = dataset.Finding

// Errors that this package returns, for errors.Is.
var (
	// Reading: the file is damaged, or has another format.
	ErrTruncated   = dataset.ErrTruncated
	ErrChecksum    = dataset.ErrChecksum
	ErrCorrupt     = dataset.ErrCorrupt
	ErrVersion     = dataset.ErrVersion
	ErrUnsupported = dataset.ErrUnsupported
	ErrNotFormat   = dataset.ErrNotFormat
	// Opening and creating: the state of the dataset does not allow the call.
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

// Severities of a Finding, in ascending order: Note, "warning" (a fault that leaves every element readable), Error, and
// "unchecked" (this version cannot judge the data, because they use an unsupported feature). Above Note something is wrong or
// unknown; from Error on data may be lost.
const (
	Note  = dataset.Note  // information that is no fault: elements without an owner, a foreign file
	Error = dataset.Error // data are lost or cannot be trusted
)
