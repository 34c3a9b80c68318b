package recovery

import "fmt"

// attempts counts the recoveries from an event at a moment.
type attempts map[string]int

// of returns the number of recoveries from an event at a moment.
func (a attempts) of(e *Event, at Moment) int { return a[key(e, at)] }

// add counts a recovery from an event at a moment. It returns ErrAborted if there were most recoveries before.
func (a attempts) add(e *Event, at Moment, most int) error {
	k := key(e, at)
	if a[k]++; e.Scope == Abort || a[k] > most {
		return fmt.Errorf("%s event in %v of coarse step %d, %d times: %w", e.Kind, at.Step, at.Coarse, a[k], ErrAborted)
	}
	return nil
}

// key identifies an event at a moment.
func key(e *Event, at Moment) string {
	kind := e.Kind
	if kind == "systemic" {
		kind = "data" // either kind of detection may find the error
	}
	return fmt.Sprint(kind, e.Level, e.Box, e.Ranks, at)
}
