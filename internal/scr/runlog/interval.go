package runlog

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Stats holds the cost of checkpoints and the failures, computed from a log.
type Stats struct {
	Checkpoints int64         // number of CHECKPOINT_END entries that have a time
	Cost        time.Duration // mean time of a checkpoint; 0 if there is no checkpoint
	FlushCost   time.Duration // total time of synchronous flushes, divided by the number of checkpoints
	Runs        int64         // number of START entries
	Failures    int64         // number of runs that ended without HALT
	Lasted      time.Duration // total time of all runs
	Computed    time.Duration // mean computing time between two checkpoints; 0 if no entry has a computing time
}

var (
	// ErrNoCost means that the log contains no checkpoint with its time.
	ErrNoCost = errors.New("the log contains no checkpoint with its time")
	// ErrNoFailure means that the log contains no failure, so that the time between failures is unknown. The time between failures
	// is probably longer than the time that the log covers.
	ErrNoFailure = errors.New("the log contains no failure")
)

// If a run was successful, the run loop's entry ends with endedWell.
const endedWell = ", exit code 0"

// Analyze computes Stats from the entries of one simulation. The entries must be in the order in which they were written.
//
// A run lasts from START to its last entry, or to RUN_END of the run loop. A run has failed if the next START, RUN_END or NODE_FAIL
// follows without a HALT in between. But a run whose RUN_END reports exit code 0 has not failed. If none of these entries follows,
// the run is considered to be still running.
func Analyze(entries []Entry) Stats {
	var s Stats
	var cost, flush time.Duration
	var computed mean
	var run struct {
		on, halted  bool
		first, last time.Time
	}
	end := func(over bool) {
		if !run.on {
			return
		}
		s.Lasted += max(run.last.Sub(run.first), 0)
		if over && !run.halted {
			s.Failures++
		}
		run.on = false
	}
	for i := range entries {
		e := &entries[i]
		switch e.Event {
		case Start:
			end(true)
			s.Runs++
			run.on, run.halted = true, false
			run.first, run.last = e.Time, e.Time
			continue
		case RunEnd:
			run.last = e.Time
			end(!strings.HasSuffix(e.Note, endedWell))
			continue
		case NodeFail:
			run.last = e.Time
			end(true)
			continue
		case RunStart, ScavengeStart, ScavengeEnd:
			continue // time between runs is ignored
		case Halt:
			run.halted = true
		case CheckpointEnd:
			if e.Took != nil {
				s.Checkpoints++
				cost += *e.Took
			}
		case FlushSuccess, FlushFail:
			if e.Took != nil {
				flush += *e.Took
			}
		case ComputeEnd:
			computed.add(e.Took)
		}
		run.last = e.Time
	}
	end(false)
	s.Computed = computed.mean()
	if s.Checkpoints > 0 {
		s.Cost = cost / time.Duration(s.Checkpoints)
		s.FlushCost = flush / time.Duration(s.Checkpoints)
	}
	return s
}

type mean struct{ sum, n time.Duration }

func (m *mean) add(took *time.Duration) {
	if took != nil {
		m.sum += *took
		m.n++
	}
}

func (m *mean) mean() time.Duration { return m.sum / max(m.n, 1) }

// MTBF returns the mean time between failures. The error is ErrNoFailure if there was no failure.
func (s Stats) MTBF() (time.Duration, error) {
	if s.Failures == 0 {
		return 0, fmt.Errorf("%w in %v of %d runs", ErrNoFailure, s.Lasted, s.Runs)
	}
	return s.Lasted / time.Duration(s.Failures), nil
}

// Blocked returns the mean time for which a checkpoint blocks the application. This time includes its share of the synchronous
// flushes. The error is ErrNoCost if no checkpoint was logged.
func (s Stats) Blocked() (time.Duration, error) {
	if s.Checkpoints == 0 {
		return 0, ErrNoCost
	}
	return s.Cost + s.FlushCost, nil
}

// Young returns the optimal time between the end of a checkpoint and the start of the next one. For a checkpoint cost c and a mean
// time between failures m it is sqrt(2cm). It is 0 if c or m is not positive.
func Young(c, m time.Duration) time.Duration {
	if c <= 0 || m <= 0 {
		return 0
	}
	return seconds(math.Sqrt(2 * c.Seconds() * m.Seconds()))
}

// Daly is like Young, but adds the higher-order terms of Daly's formula. They matter if c is not small compared with m. The result
// is sqrt(2cm) * (1 + sqrt(c/2m)/3 + c/18m) - c for c < 2m, and m for larger c.
func Daly(c, m time.Duration) time.Duration {
	if c <= 0 || m <= 0 {
		return 0
	}
	C, M := c.Seconds(), m.Seconds()
	if C >= 2*M {
		return m
	}
	return seconds(math.Sqrt(2*C*M)*(1+math.Sqrt(C/(2*M))/3+C/(18*M)) - C)
}

func seconds(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}
