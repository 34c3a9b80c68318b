package comm

import (
	"blobio/internal/comm/calls"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// world is the state of a run and of the communication of its ranks.
//
// Lock order: group.mu or peer.mu, then world.mu. fail first takes and releases world.mu, then takes the others one by one.
type world struct {
	n      int
	opts   *Options
	parent context.Context         // context of Run; nil for Self, whose rank never leaves
	done   <-chan struct{}         // closed when fail cancels the ranks' context
	cancel context.CancelCauseFunc // cancels the ranks' context

	failure atomic.Pointer[failure] // set once, under mu
	active  atomic.Int64            // number of ranks that neither wait in a call nor are gone
	wakes   atomic.Int64            // number of ended waits; a change refutes a suspected deadlock
	peers   []peer                  // by rank

	mu        sync.Mutex
	open      map[*group]struct{} // groups with an incomplete round
	numGone   int
	numFailed int            // number of ranks that returned an error
	timer     *time.Timer    // timer of a suspected deadlock
	timers    sync.WaitGroup // timers that may still run
	failed    []RankError    // the ranks' own errors, each different text once
	distinct  map[string]bool
	more      int // number of further errors, beyond maxDistinct
}

// failure is the reason why the communication broke.
type failure struct {
	err    error        // the cause; pending calls return it
	ctxErr error        // set if a context was cancelled
	rank   int          // the rank whose context it was; -1: the context of the run
	broken *brokenError // returned by later calls
	text   string       // text of err
}

func newWorld(n int, o *Options) *world {
	w := &world{n: n, opts: o, peers: make([]peer, n), open: map[*group]struct{}{}}
	w.active.Store(int64(n))
	return w
}

// broken returns the error of calls after the failure, or nil.
func (w *world) broken() error {
	if f := w.failure.Load(); f != nil {
		return f.broken
	}
	return nil
}

// pendingErr returns the error of a call of this rank that was pending when the communication broke. If this rank's context
// ended, the error is the context's error without a RankError.
func (w *world) pendingErr(rank int) error {
	f := w.failure.Load()
	if f.ctxErr != nil && (f.rank == rank || f.rank < 0) {
		return f.ctxErr
	}
	return f.err
}

// fail breaks the communication and ends all waits. Only the first failure is kept.
func (w *world) fail(f *failure) {
	if w.failure.Load() != nil {
		return
	}
	f.broken, f.text = &brokenError{f.err}, f.err.Error()
	w.mu.Lock()
	if w.failure.Load() != nil {
		w.mu.Unlock()
		return
	}
	w.failure.Store(f)
	var groups []*group
	for g := range w.open {
		groups = append(groups, g)
	}
	clear(w.open)
	w.mu.Unlock()
	if w.cancel != nil { // cancel first, so that a rank that wakes finds its context cancelled
		w.cancel(f.err)
	}

	// After this no rank begins to wait, because both kinds of wait check failure under the locks that are taken here.
	for _, g := range groups {
		g.mu.Lock()
		if r := g.cur; r != nil {
			g.cur = nil
			r.failed = true
			close(r.done)
		}
		g.mu.Unlock()
	}
	for i := range w.peers {
		w.peers[i].failAll()
	}
}

// failErr breaks the communication with the cause err. It returns the error for the caller.
func (w *world) failErr(err error) error {
	w.fail(&failure{err: err, rank: -1})
	return err
}

// failCtx breaks the communication because a context of a rank was cancelled.
func (w *world) failCtx(rank int, ctx context.Context) {
	if w.parent != nil && w.parent.Err() != nil {
		w.failParent()
		return
	}
	w.fail(&failure{err: &RankError{Rank: rank, Err: ctxError(ctx)}, ctxErr: ctx.Err(), rank: rank})
}

// failParent breaks the communication because the context of the run was cancelled.
func (w *world) failParent() {
	w.fail(&failure{err: ctxError(w.parent), ctxErr: w.parent.Err(), rank: -1})
}

// ctxError returns ctx.Err(), joined with context.Cause(ctx) if the cause differs.
func ctxError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// wake records that k ranks stop waiting. It is called before the ranks wake.
func (w *world) wake(k int) {
	w.wakes.Add(1)
	w.active.Add(int64(k))
}

// sleep records that a rank is about to wait or has left.
func (w *world) sleep() {
	if w.active.Add(-1) <= 0 {
		w.suspect()
	}
}

// suspect is called when no rank is active. If this state lasts for DeadlockAfter and some ranks wait, it is a deadlock. The
// delay is for ranks that use their Comms from several goroutines.
func (w *world) suspect() {
	after := w.opts.deadlockAfter()
	w.mu.Lock()
	defer w.mu.Unlock()
	if after < 0 || w.numGone == w.n || w.failure.Load() != nil {
		return
	}
	w.stopTimer()
	wakes := w.wakes.Load()
	w.timers.Add(1)
	w.timer = time.AfterFunc(after, func() {
		defer w.timers.Done()
		if w.active.Load() <= 0 && w.wakes.Load() == wakes {
			w.failErr(fmt.Errorf("%w: %s", ErrDeadlock, w.waiting()))
		}
	})
}

// stopTimer stops the timer of a suspected deadlock. mu is held.
func (w *world) stopTimer() {
	if w.timer != nil && w.timer.Stop() {
		w.timers.Done()
	}
	w.timer = nil
}

// waiting returns a description of the waiting ranks.
func (w *world) waiting() string {
	const most = 4
	var s []string
	w.mu.Lock()
	var groups []*group
	for g := range w.open {
		groups = append(groups, g)
	}
	w.mu.Unlock()
	for i, g := range groups {
		if i == most {
			s = append(s, fmt.Sprintf("and %d more collectives", len(groups)-most))
			break
		}
		g.mu.Lock()
		if r := g.cur; r != nil {
			s = append(s, fmt.Sprintf("%s has %d of %d ranks, without %s", calls.Within(r.call, r.sig.String()), r.arrived, g.n, g.missing(r, most)))
		}
		g.mu.Unlock()
	}
	recvs := 0
	for i := range w.peers {
		s, recvs = w.peers[i].describe(s, i, recvs, most)
	}
	if recvs > most {
		s = append(s, fmt.Sprintf("and %d more receives", recvs-most))
	}
	return strings.Join(s, "; ")
}

// leave records that a rank has returned err, which may be nil.
func (w *world) leave(rank int, err error) {
	if err == nil {
		w.exit(rank)
		return
	}
	if w.parent.Err() != nil && errors.Is(err, w.parent.Err()) {
		w.failParent() // this rank noticed the end of the context before the context's watcher did
	}
	var re *RankError
	if !errors.As(err, &re) || error(re) != err {
		re = &RankError{Rank: rank, Err: err}
	}
	w.mu.Lock()
	w.numFailed++
	w.mu.Unlock()
	w.fail(&failure{err: re, rank: -1}) // fail keeps only the first failure
	w.note(rank, err)
	w.exit(rank)
}

// exit records that a rank has left. If a rank waits for it, the communication breaks.
func (w *world) exit(rank int) {
	waiter := w.peers[rank].leave()
	w.mu.Lock()
	w.numGone++
	var stuck *group
	for g := range w.open {
		if g.has(rank) {
			stuck = g
			break
		}
	}
	w.mu.Unlock()
	switch {
	case stuck != nil:
		stuck.mu.Lock()
		what := "a collective"
		if stuck.cur != nil {
			what = calls.Within(stuck.cur.call, stuck.cur.sig.String())
		}
		stuck.mu.Unlock()
		w.failErr(fmt.Errorf("%w: rank %d is missing in %s", ErrExited, rank, what))
	case waiter >= 0:
		w.failErr(fmt.Errorf("%w: rank %d waits for a message of rank %d", ErrExited, waiter, rank))
	}
	w.sleep()
}
