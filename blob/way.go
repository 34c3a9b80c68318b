package blob

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"time"

	"blobio/internal/par"
)

// From these mean sizes on, in bytes, each rank writes its own, if nothing else is known: of the ranks' pieces of a variable (or with the
// process-centric layout all that they put). Each write takes the lock of the file; up to here that costs more than the copy into
// a window.
const (
	ownMinShared   = 128 << 10
	ownMinMessages = 64 << 10
)

// NoOwnMin is what Pieces.OwnMin is if nothing is large enough for a rank to write it itself.
const NoOwnMin = math.MaxInt64

// Pieces says how the pieces of ranks that share no heap come to the file, and why.
type Pieces struct {
	OwnMin int64 // mean size in bytes from which on each rank writes its own, see Options.OwnMin; 0: no other process takes part
	Why    string
}

// Pieces tells of the way in which the next Flush writes. Where Options.OwnMin leaves the choice, this begins as suits most machines: with
// windows for everything on nodes whose processes outnumber their cores, if the layout is variable-centric, otherwise with a size. Flushes
// with pieces of that size that repeat each other, of other records, then try both ways in turn, and all after them use the faster one. The
// bytes are the same.
func (w *Writer) Pieces() Pieces {
	if !w.apart() || w.eng.team.one() || w.eng.pack != nil {
		return Pieces{0, "no process writes for another"}
	}
	return Pieces{w.eng.ownMin(false), w.eng.team.why(&w.eng.opt)}
}

// way is from which size on ranks with shared memory write their own, and why. All members of a team have the same.
type way struct {
	ownMin int64
	why    string
}

// crowd is how many processes share the cores of this one, if these are fewer; else 0.
func (w *Writer) crowd() int {
	n := w.opt.crowd
	if n == 0 {
		n = par.Sharers()
	}
	if n <= runtime.NumCPU() {
		return 0
	}
	return n
}

// startWay is that of a new team. Who has to wait for a core while it holds the lock of the file lets all others wait. But what lies
// together in the file is written in few calls.
func startWay(o *settings, crowd int64) way {
	if crowd > 0 && !o.Layout.traits().ByRank {
		return way{NoOwnMin, fmt.Sprintf("%d processes share fewer cores", crowd)}
	}
	return way{o.ownShared(), "default"}
}

func (k *knobs) ownShared() int64 { return cmp.Or(k.ownMin, ownMinShared) }

// ownMin is the size that holds for the next flush. In the background windows would be kept in copies, and filled while the
// ranks wait.
func (e *engine) ownMin(background bool) int64 {
	switch t := e.team; {
	case e.opt.OwnMin > 0:
		return e.opt.OwnMin
	case t.byMessages(&e.opt):
		return ownMinMessages
	case background:
		return e.opt.ownShared()
	case t.trial.other():
		return t.way.another(&e.opt).ownMin
	default:
		return t.way.ownMin
	}
}

// byMessages says that the team has no shared memory, as it learns in the first flush.
func (t *team) byMessages(o *settings) bool { return t.mem == nil && (t.asked || o.messages) }

func (t *team) why(o *settings) string {
	switch {
	case o.OwnMin > 0:
		return "set"
	case t.byMessages(o):
		return "default for messages"
	}
	return t.way.why
}

// another is the way that a trial compares with.
func (w way) another(o *settings) way {
	if w.ownMin == NoOwnMin {
		return way{ownMin: o.ownShared()}
	}
	return way{ownMin: NoOwnMin}
}

// trial compares two ways in flushes that repeat each other: by one and the other in turn, each twice. What a flush takes is that
// of the slowest rank, which all learn in the agreement with which the next one begins, so that all choose the same.
type trial struct {
	flushes int              // that were tried
	best    [2]time.Duration // of the way of the team, and of the other
	took    time.Duration    // of this rank, if the last flush was one of them; else 0
}

const trialFlushes = 4

// other says whether the next flush tries the other way.
func (c *trial) other() bool { return c.flushes < trialFlushes && c.flushes%2 == 1 }

// tell is what this rank's last flush took, as a word of which the least of all ranks is that of the slowest.
func (c *trial) tell() int64 { return ^int64(c.took) }

// tried notes what a flush took that was made as all expected.
func (e *engine) tried(p *plan, d time.Duration) {
	t := e.team
	if t.trial.flushes == trialFlushes || t.mem == nil || e.opt.OwnMin > 0 || !p.large() {
		return
	}
	if e.opt.timed != nil {
		d = e.opt.timed(p.least != NoOwnMin, d)
	}
	t.trial.flushes++
	t.trial.took = max(d, 1)
}

// large says whether the ways differ for what is put.
func (p *plan) large() bool {
	q := plan{e: p.e, least: p.e.opt.ownShared()}
	if len(p.keys) > 0 {
		q.chooseOwn(p.keys)
	}
	return q.ownAll || q.own != nil
}

// hear learns what the last flush took, if it was tried, and after the last trial chooses. The way of the team stays unless the other one is
// clearly faster.
func (t *team) hear(o *settings, word int64) {
	d := time.Duration(^word)
	c := &t.trial
	if c.took == 0 {
		return
	}
	c.took = 0
	i := (c.flushes - 1) % 2
	if b := &c.best[i]; *b == 0 || d < *b {
		*b = d
	}
	if c.flushes < trialFlushes {
		return
	}
	now, other := c.best[0], c.best[1]
	if other < now-now/10 {
		t.way, now, other = t.way.another(o), other, now
	}
	own, windows := now, other
	if t.way.ownMin == NoOwnMin {
		own, windows = other, now
	}
	t.way.why = fmt.Sprintf("measured: own writes %v, windows %v", own.Round(time.Microsecond), windows.Round(time.Microsecond))
}
