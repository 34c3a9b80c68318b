package scr

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Classes of errors, re-exported.
var (
	ErrMissing  = fault.ErrMissing  // a required file or dataset does not exist
	ErrChecksum = fault.ErrChecksum // bytes have changed since they were written
	ErrExist    = fault.ErrExist    // a file belongs to a dataset that must not be overwritten
	ErrCorrupt  = fault.ErrCorrupt  // a file or record contradicts another one
)

// Errors of misuse and failures of this package.
var (
	// ErrState means that a call is not allowed now. The call changed nothing. The error text names the call that must come
	// first.
	ErrState = errors.New("call not allowed in this state")
	// Open returns ErrDisabled if SCR_ENABLE is 0. Then the program runs without checkpoints.
	ErrDisabled = errors.New("SCR_ENABLE is 0")
	// ErrOutside means that a file is not below the prefix directory.
	ErrOutside = errors.New("not below the prefix directory")
	// ErrInvalid means that at least one rank reported bad files.
	ErrInvalid = errors.New("a rank declared the dataset invalid")
	// ErrNoRestart means that there is no checkpoint to restart from.
	ErrNoRestart = errors.New("no checkpoint to restart from")
)

// state is the state of a session between calls. Session lists the calls that each state allows.
type state uint8

// The states.
const (
	between   state = iota // between datasets
	inDataset              // between Start and Complete
	inRestart              // between StartRestart and CompleteRestart
	closed                 // after Close
)

// String names the state.
func (s state) String() string {
	switch s {
	case between:
		return "idle"
	case inDataset:
		return "writing"
	case inRestart:
		return "restoring"
	}
	return "closed"
}

// need returns an error unless the session is in the wanted state.
func (s *Session) need(call string, want state) error {
	if s.state == want {
		return nil
	}
	var before string
	switch {
	case s.state == closed:
		before = "the session was closed"
	case want == inDataset:
		before = "Start comes before"
	case want == inRestart:
		before = "StartRestart comes before"
	case s.state == inDataset:
		before = "Complete of " + s.cur.ds.Name + " comes before"
	default:
		before = "CompleteRestart comes before"
	}
	return fmt.Errorf("%s in state %s: %w: %s", call, s.state, ErrState, before)
}

func isFormat(err error) bool {
	var e *kvtree.FormatError
	return errors.As(err, &e)
}
