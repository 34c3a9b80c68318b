package scr

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
	"blobio/internal/scr/redset"
	"blobio/scr/kvtree"
)

// Classes of errors, re-exported.
var (
	ErrMissing  = fault.ErrMissing  // a file or dataset that should be there is not
	ErrChecksum = fault.ErrChecksum // bytes are not what was written
	ErrExist    = fault.ErrExist    // a file belongs to a dataset of the prefix directory that is not given up
	ErrCorrupt  = fault.ErrCorrupt  // a file or record contradicts itself or another one
)

// Kinds of misuse and of failure of this package.
var (
	// ErrState: a call that is not allowed now; see State.
	ErrState = errors.New("call not allowed in this state")
	// ErrDisabled: SCR_ENABLE is 0; every call but Close fails with it.
	ErrDisabled = errors.New("SCR_ENABLE is 0")
	// ErrOutside: a file that is not below the prefix directory.
	ErrOutside = errors.New("not below the prefix directory")
	// ErrInvalid: some rank said that its files are not good.
	ErrInvalid = errors.New("a rank gave the dataset up as invalid")
	// ErrNoRestart: there is no checkpoint to restart from.
	ErrNoRestart = errors.New("no checkpoint to restart from")
	// ErrNoDaemon: a flush was left to a transfer process (Config.Daemon), and there is none. On ranks other than that which
	// found it the class of the error is ErrMissing alone.
	ErrNoDaemon = fmt.Errorf("no transfer process: %w", ErrMissing)
)

// GroupsError is the error of Open where a scheme has too few failure groups and Config.Strict is set.
type GroupsError = redset.GroupsError

// StateError says which call came at the wrong time. Its class is ErrState.
type StateError struct {
	Call  string
	State State
	Want  string // what must come before
}

// Error implements error.
func (e *StateError) Error() string {
	return fmt.Sprintf("%s in state %s: %v: %s", e.Call, e.State, ErrState, e.Want)
}

// Unwrap returns ErrState.
func (e *StateError) Unwrap() error { return ErrState }

// State is where a session is between its calls. It says which calls are allowed; any other is a
// *StateError and changes nothing.
//
//	call                                            idle   writing  restoring  closed
//	NeedCheckpoint, ShouldExit, HaveRestart,        yes    error    error      error
//	Current, Drop, Delete, Flush
//	Start                                           -> writing
//	Complete                                        error  -> idle  error      error
//	StartRestart                                    -> restoring
//	CompleteRestart                                 error  error    -> idle    error
//	Route                                           the name is returned unchanged; while writing or restoring, where the file is
//	Close                                           -> closed, from any state
type State uint8

// The states.
const (
	Idle      State = iota // between datasets
	Writing                // between Start and Complete
	Restoring              // between StartRestart and CompleteRestart
	Closed                 // after Close
)

// String names the state.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Writing:
		return "writing"
	case Restoring:
		return "restoring"
	}
	return "closed"
}

// need is an error unless the session is in the wanted state.
func (s *Session) need(call string, want State) error {
	if s.off {
		return fmt.Errorf("%s: %w", call, ErrDisabled)
	}
	if s.state == want {
		return nil
	}
	e := &StateError{Call: call, State: s.state}
	switch {
	case s.state == Closed:
		e.Want = "the session was closed"
	case want == Writing:
		e.Want = "Start comes before"
	case want == Restoring:
		e.Want = "StartRestart comes before"
	case s.state == Writing:
		e.Want = "Complete of " + s.cur.ds.Name + " comes before"
	default:
		e.Want = "CompleteRestart comes before"
	}
	return e
}

func isFormat(err error) bool {
	var e *kvtree.FormatError
	return errors.As(err, &e)
}
