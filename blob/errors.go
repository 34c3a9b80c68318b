package blob

import "blobio/blob/internal/dataset"

// FormatError describes a fault in a file and its position.
type FormatError = dataset.FormatError

// Finding is one result of Check or Diff.
type Finding = dataset.Finding

// Errors that this package returns, for errors.Is.
var (
	// Errors of reading: the file is damaged, or has another format.
	ErrTruncated   = dataset.ErrTruncated
	ErrChecksum    = dataset.ErrChecksum
	ErrCorrupt     = dataset.ErrCorrupt
	ErrVersion     = dataset.ErrVersion
	ErrUnsupported = dataset.ErrUnsupported
	ErrNotFormat   = dataset.ErrNotFormat
	// Errors of opening and creating: the state of the dataset does not allow the call.
	ErrNotCommitted = dataset.ErrNotCommitted
	ErrMissing      = dataset.ErrMissing
	ErrExist        = dataset.ErrExist
	ErrMapMismatch  = dataset.ErrMapMismatch
	ErrInUse        = dataset.ErrInUse
	// Errors of use: the call is wrong, or an earlier call failed.
	ErrUsage    = dataset.ErrUsage
	ErrRange    = dataset.ErrRange
	ErrTooLarge = dataset.ErrTooLarge
	ErrBroken   = dataset.ErrBroken
)

// Severities of a Finding, in ascending order: Note, "warning", Error and "unchecked". A warning is a fault that leaves every
// element readable. "unchecked" means that this version cannot judge the data, because they use an unsupported feature. With a
// severity above Note something is wrong or unknown; from Error on data may be lost.
const (
	Note  = dataset.Note  // no fault, but worth knowing: elements without an owner, or a foreign file
	Error = dataset.Error // data are lost or cannot be trusted
)
