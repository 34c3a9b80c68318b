package dataset

import "blobio/internal/base/fault"

// Severity of a finding: it prints as "note", "warning", "error" or "unchecked".
type Severity = fault.Severity

const (
	// Note: worth knowing, not wrong: elements that no rank owns, a foreign file.
	Note = fault.Note
	// Warning: not as it should be, but every element can be read.
	Warning = fault.Warning
	// Error: data are lost, or cannot be trusted.
	Error = fault.Error
	// Unchecked: it cannot be judged here, since it uses what is not implemented; it may be sound.
	Unchecked = fault.Unchecked
)

// A Finding is one thing that Check or Diff found.
type Finding = fault.Finding
