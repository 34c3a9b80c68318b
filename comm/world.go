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

// world is one run: its ranks, and whether they still hold together.
//
// Lock order: group.mu or peer.mu, then world.mu. fail takes world.mu first, lets
// it go, and then takes the others one by one.
type world struct {
	n      int
	opts   *Options
	parent context.Context         // of Run; nil for Self, which nobody leaves
	done   <-chan struct{}         // Done of the context that Run gives to the ranks; cancelled by fail
	cancel context.CancelCauseFunc // of that context

	failure atomic.Pointer[failure] // set once, under mu
	active  atomic.Int64            // ranks that are neither waiting in a call nor gone
	wakes   atomic.Int64            // counts ends of waiting, which refute a suspected deadlock
	peers   []peer                  // by rank

	mu        sync.Mutex
	open      map[*group]struct{} // groups with a round that not all have reached
	numGone   int
	numFailed int            // ranks that returned an error
	timer     *time.Timer    // of a suspected deadlock
	timers    sync.WaitGroup // timers that may still run
	failed    []RankError    // own errors of ranks, each text once
	distinct  map[string]bool
	more      int // errors over the cap
}

// failure is why the communication broke.
type failure struct {
	err    error        // the cause, as all ranks see it in calls that were pending
	ctxErr error        // set if the cause is a cancelled context
	rank   int          // with that context; -1: the run
	broken *brokenError // of later calls
	text   string       // of err
}

func newWorld(n int, o *Options) *world {
	w := &world{n: n, opts: o, peers: make([]peer, n), open: map[*group]struct{}{}}
	w.active.Store(int64(n))
	return w
}

// broken returns the error of calls made after the failure, or nil.
func (w *world) broken() error {
	if f := w.failure.Load(); f != nil {
		return f.broken
	}
	return nil
}

// pendingErr returns the error for a call of rank that was waiting when the
// communication broke: the bare context error if it is due to this rank's context.
func (w *world) pendingErr(rank int) error {
	f := w.failure.Load()
	if f.ctxErr != nil && (f.rank == rank || f.rank < 0) {
		return f.ctxErr
	}
	return f.err
}

// fail breaks the communication (the first failure stays) and ends all waiting.
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
	if w.cancel != nil { // first: a rank that wakes finds the context ended
		w.cancel(f.err)
	}

	// From here on nobody starts to wait: both places where that happens look at
	// failure under the lock that is taken here.
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

// failErr is fail with a plain cause; it returns the error for the caller.
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

// ctxError is ctx.Err() with its cause, if that is another error.
func ctxError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// wake notes that k ranks stop waiting, before they wake.
func (w *world) wake(k int) {
	w.wakes.Add(1)
	w.active.Add(int64(k))
}

// sleep notes that a rank is about to wait, or has gone.
func (w *world) sleep() {
	if w.active.Add(-1) <= 0 {
		w.suspect()
	}
}

// suspect is called when nobody is active. If that stays so for a while, with
// ranks waiting, it is a deadlock. (Ranks use their Comms from one goroutine at a
// time, so it is one already; the pause is for ranks that do not.)
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

// stopTimer ends the suspicion. mu is held.
func (w *world) stopTimer() {
	if w.timer != nil && w.timer.Stop() {
		w.timers.Done()
	}
	w.timer = nil
}

// waiting describes the waiting ranks.
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

// leave notes that a rank has returned, with its error or nil.
func (w *world) leave(rank int, err error) {
	if err == nil {
		w.exit(rank)
		return
	}
	if w.parent.Err() != nil && errors.Is(err, w.parent.Err()) {
		w.failParent() // this rank was quicker to see it than the watch on the context
	}
	var re *RankError
	if !errors.As(err, &re) || error(re) != err {
		re = &RankError{Rank: rank, Err: err}
	}
	w.mu.Lock()
	w.numFailed++
	w.mu.Unlock()
	w.fail(&failure{err: re, rank: -1}) // the first one stays
	w.note(rank, err)
	w.exit(rank)
}

// exit notes that a rank needs and gives nothing any more. Whoever waits for it never will get it.
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
