package ffstore

import (
	"fmt"

	"blobio/internal/base/fault"
)

// Error classes of this package in addition to the classes of ffformat, for errors.Is.
var (
	ErrMissing      = fault.ErrMissing
	ErrNotCommitted = fault.ErrNotCommitted
	ErrBroken       = fault.ErrBroken // after an earlier failure: open the store again
	ErrExist        = fault.ErrExist
	ErrInUse        = fault.ErrInUse // another Store writes to the directory, or has written to it since this Store was opened
)

// SizeError reports that the stored sizes of a rank's variables differ from the protected sizes. It wraps ErrUsage. When a call
// returns it, no variable was read.
type SizeError struct {
	Rank   int
	CkptID int32
	vars   []sizeMismatch
}

// sizeMismatch is a variable with its stored and its protected size. A size of -1 means that there is no such variable.
type sizeMismatch struct {
	ID                int32
	Stored, Protected int64 // bytes
}

func (e *SizeError) Error() string {
	s := fmt.Sprintf("rank %d, checkpoint %d: stored and protected variables differ:", e.Rank, e.CkptID)
	for i, v := range e.vars {
		if i == 5 {
			return s + fmt.Sprintf(" and %d more", len(e.vars)-i)
		}
		switch {
		case v.Stored < 0:
			s += fmt.Sprintf(" %d is not stored;", v.ID)
		case v.Protected < 0:
			s += fmt.Sprintf(" %d (%d bytes) is not protected;", v.ID, v.Stored)
		default:
			s += fmt.Sprintf(" %d has %d bytes stored, %d protected;", v.ID, v.Stored, v.Protected)
		}
	}
	return s[:len(s)-1]
}

// Unwrap returns ErrUsage.
func (e *SizeError) Unwrap() error { return fault.ErrUsage }
