package runlog

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Stats are the costs and failures in a log.
type Stats struct {
	Checkpoints int64         // CHECKPOINT_END entries with a time
	Cost        time.Duration // mean time of a checkpoint; 0 if there is none
	FlushCost   time.Duration // time of all synchronous flushes, per checkpoint
	Runs        int64         // START entries
	Failures    int64         // runs that are over and did not end with HALT
	Lasted      time.Duration // time of all runs together
	NodeFails   int64         // NODE_FAIL entries
	Computed    time.Duration // mean time of computing between two checkpoints, of those with a time; 0 if there is none
}

var (
	// ErrNoCost: the log holds no checkpoint with a time.
	ErrNoCost = errors.New("the log holds no checkpoint with its time")
	// ErrNoFailure: the log holds no failure, so that the time between two is
	// not known (only that it is probably not less than the time that the log covers).
	ErrNoFailure = errors.New("the log holds no failure")
)

// endedWell ends the entry that our run loop makes for a run that ended well.
const endedWell = ", exit code 0"

// Analyze reads the stats from the entries of one simulation, in the order in
// which they were written.
//
// A run lasts from START to its last entry, or to the RUN_END of the run loop.
// It has failed if another START, a RUN_END, or the NODE_FAIL of a node comes
// after it without a HALT, unless RUN_END says that it ended with exit code 0. The last run of the log is taken to be still
// going on unless one of them follows.
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
			s.NodeFails++
			run.last = e.Time
			end(true)
			continue
		case RunStart, ScavengeStart, ScavengeEnd:
			continue // between runs: this time is not time of a run
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

// mean of times.
type mean struct{ sum, n time.Duration }

func (m *mean) add(took *time.Duration) {
	if took != nil {
		m.sum += *took
		m.n++
	}
}

func (m *mean) mean() time.Duration { return m.sum / max(m.n, 1) }

// MTBF is the mean time between failures; ErrNoFailure if there was none.
func (s Stats) MTBF() (time.Duration, error) {
	if s.Failures == 0 {
		return 0, fmt.Errorf("%w in %v of %d runs", ErrNoFailure, s.Lasted, s.Runs)
	}
	return s.Lasted / time.Duration(s.Failures), nil
}

// Blocked is the mean time that a checkpoint, with its share of the synchronous
// flushes, keeps the application from computing. ErrNoCost if no checkpoint
// was logged.
func (s Stats) Blocked() (time.Duration, error) {
	if s.Checkpoints == 0 {
		return 0, ErrNoCost
	}
	return s.Cost + s.FlushCost, nil
}

// Young returns the best time between the end of one checkpoint and the start of
// the next, for checkpoints that cost c and a mean time between failures m:
// sqrt(2cm). 0 if one of them is not positive.
func Young(c, m time.Duration) time.Duration {
	if c <= 0 || m <= 0 {
		return 0
	}
	return seconds(math.Sqrt(2 * c.Seconds() * m.Seconds()))
}

// Daly is Young with the higher-order terms of Daly's formula, which matter
// where c is not small beside m: sqrt(2cm) * (1 + sqrt(c/2m)/3 + c/18m) - c for
// c < 2m, else m.
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
