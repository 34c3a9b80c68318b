package cadence

import "time"

// Pace configures Pacer: SCR_CHECKPOINT_INTERVAL, _SECONDS and _OVERHEAD.
type Pace struct {
	Interval int64   // calls of Need per checkpoint; 0 or less: unused
	Seconds  int64   // maximum time between checkpoints, in seconds; 0 or less: unused
	Overhead float64 // maximum cost of checkpoints in percent of the run time; 0 or less: unused
}

// Pacer decides when the application should take a checkpoint. One rank has the Pacer and sends its answers to the other ranks.
type Pacer struct {
	pace    Pace
	calls   int64
	end     time.Time     // end of the last checkpoint, or start of the run
	taken   int64         // checkpoints in this run
	cost    time.Duration // total cost of the checkpoints
	started time.Time     // start of the current checkpoint
}

// NewPacer returns a pacer for a run that starts at now.
func NewPacer(p Pace, now time.Time) *Pacer { return &Pacer{pace: p, end: now} }

// Need counts the call and reports whether a checkpoint is needed. A checkpoint is needed if one of these conditions holds.
//
//	halt           the run is about to end and must lose no work
//	Interval > 0   the number of calls so far is a multiple of it
//	Seconds > 0    that many whole seconds passed since the last checkpoint ended
//	Overhead > 0   no checkpoint was taken yet, or their mean cost c in this run is less than Overhead
//	               percent of c and the time t since the last one ended: 100*c/(t+c) < Overhead
func (p *Pacer) Need(now time.Time, halt bool) bool {
	p.calls++
	since := now.Sub(p.end)
	return halt || p.pace.Interval > 0 && p.calls%p.pace.Interval == 0 ||
		p.pace.Seconds > 0 && int64(since/time.Second) >= p.pace.Seconds ||
		p.pace.Overhead > 0 && p.overheadLow(since)
}

func (p *Pacer) overheadLow(since time.Duration) bool {
	if p.taken == 0 {
		return true
	}
	c := p.Mean().Seconds()
	if c <= 0 {
		return true // the checkpoints take no measurable time
	}
	// Someone may have set the clock back. A negative time must not make the divisor 0.
	t := max(since.Seconds(), 0)
	return 100*c/(t+c) < p.pace.Overhead
}

// Start records the beginning of a checkpoint.
func (p *Pacer) Start(now time.Time) { p.started = now }

// Done records the end of the checkpoint whose beginning Start recorded. A failed checkpoint counts too, because it took time.
func (p *Pacer) Done(now time.Time) {
	if !p.started.IsZero() {
		p.cost += max(now.Sub(p.started), 0)
		p.taken++
	}
	p.started = time.Time{}
	p.end = now
}

// Mean returns the mean cost of the checkpoints of this run. Before the first checkpoint it returns 0.
func (p *Pacer) Mean() time.Duration {
	if p.taken == 0 {
		return 0
	}
	return p.cost / time.Duration(p.taken)
}

// FlushDue reports whether checkpoint id must be flushed (SCR_FLUSH). ids begin with 1. Every n-th checkpoint is flushed; if n
// <= 0, no checkpoint is flushed. The result depends only on id and n. Therefore a restarted run flushes the same checkpoints.
func FlushDue(id, n int64) bool { return n > 0 && id > 0 && id%n == 0 }
