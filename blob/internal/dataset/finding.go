package dataset

import "blobio/internal/base/fault"

// Severity is the severity of a finding. It prints as "note", "warning", "error" or "unchecked".
type Severity = fault.Severity

const (
	// Note is information, not a fault: for example elements without an owner.
	Note = fault.Note
	// Warning is a fault that leaves every element readable.
	Warning = fault.Warning
	// Error means that data are lost or cannot be trusted.
	Error = fault.Error
	// Unchecked means that this version cannot judge the data, because they use an unsupported feature.
	Unchecked = fault.Unchecked
)

// Finding is one result of Check or Diff.
type Finding = fault.Finding
