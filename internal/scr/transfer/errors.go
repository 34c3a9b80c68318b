package transfer

import (
	"fmt"
)

// JobError says which of several jobs failed.
type JobError struct {
	Index int // in the list
	Job   Job
	Err   error
}

// Error implements error.
func (e *JobError) Error() string {
	return fmt.Sprintf("job %d (%s): %v", e.Index, e.Job.String(), e.Err)
}

// Unwrap returns the reason.
func (e *JobError) Unwrap() error { return e.Err }

// FailedError says which files a transfer process could not copy.
type FailedError struct{ Items []Item }

// Error implements error.
func (e *FailedError) Error() string {
	if len(e.Items) == 0 {
		return "some files could not be copied"
	}
	s := fmt.Sprintf("%s: %s", e.Items[0].Src, e.Items[0].Error)
	if n := len(e.Items) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}
