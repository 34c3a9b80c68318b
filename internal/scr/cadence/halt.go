package cadence

import (
	"fmt"
	"time"
)

// Reasons to end the run, as written in the halt file.
const (
	TimeLimit         = "TIME_LIMIT"
	NoCheckpointsLeft = "NO_CHECKPOINTS_LEFT"
	ExitBeforeTime    = "EXIT_BEFORE_TIME"
	ExitAfterTime     = "EXIT_AFTER_TIME"
	FinalizeCalled    = "SCR_FINALIZE_CALLED"
)

// Field is an optional number of the halt file.
type Field struct {
	Set   bool
	Value int64
}

// Int returns a set field.
func Int(n int64) Field { return Field{Set: true, Value: n} }

// Or returns the value, or n if the field is not set.
func (f Field) Or(n int64) int64 {
	if f.Set {
		return f.Value
	}
	return n
}

// Halt is the content of a halt file. The zero value is an empty halt file.
type Halt struct {
	CheckpointsLeft Field  // the run ends after this number of checkpoints
	ExitAfter       Field  // the run ends after this time, in seconds since 1970
	ExitBefore      Field  // the run ends HaltSeconds before this time, in seconds since 1970
	HaltSeconds     Field  // seconds
	ExitReason      string // "" if not set
}

// Countdown subtracts n completed checkpoints from CheckpointsLeft, down to 0. It reports whether the value changed. If the
// value changed, the caller must write the file.
func (h *Halt) Countdown(n int64) bool {
	if !h.CheckpointsLeft.Set || h.CheckpointsLeft.Value <= 0 || n <= 0 {
		return false
	}
	h.CheckpointsLeft.Value = max(h.CheckpointsLeft.Value-n, 0)
	return true
}

// Limits are the conditions that end the run.
type Limits struct {
	Halt Halt
	// HaltSeconds is the parameter SCR_HALT_SECONDS, used if the halt file sets no value.
	HaltSeconds int64
	// EndTime is the time at which the allocation ends (SCR_END_TIME); zero if unknown.
	EndTime time.Time
	// RunLoop is set when the run loop asks whether to start another run. Without RunLoop, ExitReason SCR_FINALIZE_CALLED is
	// ignored.
	RunLoop bool
}

// Verdict is the result of Check.
type Verdict struct {
	Halt   bool
	Reason string // one of the constants, or the text of ExitReason in the halt file
	// Note explains the reason with numbers: "600 s remain, HaltSeconds is 900".
	Note string
	// Write is set if the caller must write Reason to ExitReason in the halt file, so that the run loop does not start another
	// run.
	Write bool
}

// Remaining returns the remaining time of the allocation, at least 0. ok is false if EndTime is unknown.
func (l Limits) Remaining(now time.Time) (d time.Duration, ok bool) {
	if l.EndTime.IsZero() {
		return 0, false
	}
	return max(l.EndTime.Sub(now), 0), true
}

// Check tests five conditions at the time now. The verdict is the first condition that holds:
//
//	TIME_LIMIT            HaltSeconds > 0, and at most HaltSeconds remain until EndTime
//	(the text found)      Halt.ExitReason is set. Without RunLoop, SCR_FINALIZE_CALLED is ignored: a successful
//	                      run sets it for the run loop, and must not prevent a new run
//	NO_CHECKPOINTS_LEFT   CheckpointsLeft is set and 0
//	EXIT_BEFORE_TIME      now >= ExitBefore - HaltSeconds
//	EXIT_AFTER_TIME       now >= ExitAfter
//
// HaltSeconds of the halt file overrides the parameter.
func (l Limits) Check(now time.Time) Verdict {
	h := l.Halt
	seconds := h.HaltSeconds.Or(l.HaltSeconds)
	unix := now.Unix()
	due := func(reason, note string) Verdict {
		return Verdict{Halt: true, Reason: reason, Note: note, Write: h.ExitReason != reason}
	}
	if left, ok := l.Remaining(now); ok && seconds > 0 && left <= secs(seconds) {
		return due(TimeLimit, fmt.Sprintf("%d s remain, HaltSeconds is %d", int64(left/time.Second), seconds))
	}
	if h.ExitReason != "" && (l.RunLoop || h.ExitReason != FinalizeCalled) {
		return due(h.ExitReason, "ExitReason is set in the halt file")
	}
	if h.CheckpointsLeft.Set && h.CheckpointsLeft.Value <= 0 {
		return due(NoCheckpointsLeft, "CheckpointsLeft is 0")
	}
	// If the subtraction overflows, the times are meaningless. Compare with now first, to prevent the overflow.
	if h.ExitBefore.Set && reached(unix, h.ExitBefore.Value, max(seconds, 0)) {
		return due(ExitBeforeTime, fmt.Sprintf("ExitBefore is %s, HaltSeconds is %d", clock(h.ExitBefore.Value), seconds))
	}
	if h.ExitAfter.Set && unix >= h.ExitAfter.Value {
		return due(ExitAfterTime, fmt.Sprintf("ExitAfter is %s", clock(h.ExitAfter.Value)))
	}
	return Verdict{}
}

// reached reports whether now >= at-before. The computation does not overflow. before must be >= 0.
func reached(now, at, before int64) bool {
	if d := at - before; d <= at {
		return now >= d
	}
	return true
}

// secs returns a duration of n seconds, or the longest duration if that overflows.
func secs(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}

func clock(unix int64) string { return time.Unix(unix, 0).Format("2006-01-02T15:04:05") }
