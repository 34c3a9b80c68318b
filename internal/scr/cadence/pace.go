package cadence

import "time"

// Pace configures Pacer: SCR_CHECKPOINT_INTERVAL, _SECONDS and _OVERHEAD.
type Pace struct {
	Interval int64   // calls of Need per checkpoint; 0 or less: not used
	Seconds  int64   // longest time between checkpoints, in seconds; 0 or less: not used
	Overhead float64 // cost of checkpoints in percent of the run time; 0 or less: not used
}

// Pacer decides when the application should checkpoint. It belongs to one
// rank; the others take over its answer.
type Pacer struct {
	pace    Pace
	calls   int64
	end     time.Time     // of the last checkpoint, or the start of the run
	taken   int64         // checkpoints in this run
	cost    time.Duration // of all of them
	started time.Time     // of the one being taken
}

// NewPacer starts at the time now.
func NewPacer(p Pace, now time.Time) *Pacer { return &Pacer{pace: p, end: now} }

// Need counts the call and reports whether a checkpoint is needed: if any of these holds.
//
//	halt           the run is about to end, and nothing is to be lost by that
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
		return true // it costs nothing measurable
	}
	// A clock set back must not divide by nothing: at most all time was cost.
	t := max(since.Seconds(), 0)
	return 100*c/(t+c) < p.pace.Overhead
}

// Start notes the beginning of a checkpoint.
func (p *Pacer) Start(now time.Time) { p.started = now }

// Done notes the end of the checkpoint begun by Start. A checkpoint that
// failed counts too: it took its time.
func (p *Pacer) Done(now time.Time) {
	if !p.started.IsZero() {
		p.cost += max(now.Sub(p.started), 0)
		p.taken++
	}
	p.started = time.Time{}
	p.end = now
}

// Mean is the mean cost of the checkpoints of this run; 0 before the first.
func (p *Pacer) Mean() time.Duration {
	if p.taken == 0 {
		return 0
	}
	return p.cost / time.Duration(p.taken)
}

// FlushDue is true if checkpoint id (from 1) is to be flushed: every n-th,
// none for n <= 0 (SCR_FLUSH). It depends on the id alone, so that it goes on
// in step after a restart.
func FlushDue(id, n int64) bool { return n > 0 && id > 0 && id%n == 0 }
