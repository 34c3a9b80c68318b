package runloop

import (
	"errors"

	"blobio/internal/fault"
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "runloop"

var (
	// ErrUsage: options that make no sense.
	ErrUsage = fault.ErrUsage
	// ErrSkip is in the chain of the error of a node test that cannot be made here; the loop goes on without it.
	ErrSkip = errors.New("test left out")
)
