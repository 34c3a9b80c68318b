package runloop

import (
	"errors"
)

var (
	// ErrSkip is in the chain of the error of a node test that cannot be made here; the loop goes on without it.
	ErrSkip = errors.New("test left out")
)
