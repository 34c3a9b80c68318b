package recovery

import (
	"errors"
)

var (
	// ErrNoRecovery: nothing was saved that the run could return to.
	ErrNoRecovery = errors.New("nothing to return to")
	// ErrUnhandled: no handler takes the event.
	ErrUnhandled = errors.New("no handler for the event")
	// ErrRecovering: a handler raised its own event again.
	ErrRecovering = errors.New("recovery in progress")
	// ErrMetadataLost: no replica and no saved version of the metadata is good.
	ErrMetadataLost = errors.New("metadata lost")
	// ErrAborted: every handler in every scope failed, or the configuration says abort.
	ErrAborted = errors.New("recovery abandoned")
)
