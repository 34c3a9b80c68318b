package comm

import (
	"blobio/internal/base/fault"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// maxDistinct is the maximum number of different errors that Run returns besides the first.
const maxDistinct = 16

// Run calls f on n ranks, each a goroutine of this process, and waits for all. c.Rank() is the number of the rank.
//
// The first rank that returns an error or panics (*PanicError) breaks the communication: the calls of the other ranks fail with a
// *RankError, and their context is cancelled. A cancelled ctx and calls that do not match (ErrMismatch, ErrExited, ErrDeadlock)
// break the communication, too. Run returns the first cause, joined with the own errors of other ranks. If ctx was cancelled, the
// error wraps ctx.Err(). Run returns the error that broke the communication even if all ranks return nil.
//
// n must be in 1 ... 1<<24.
func Run(ctx context.Context, n int, o *Options, f func(ctx context.Context, c Comm) error) error {
	if n < 1 || n > 1<<24 {
		return fault.Usage("%d ranks, want 1 ... %d", n, 1<<24)
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctxError(ctx)
	}
	w := newWorld(n, o)
	rankCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.parent, w.done, w.cancel = ctx, rankCtx.Done(), cancel
	watched := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(watched)
		w.failParent()
	})

	g := &group{w: w, n: n}
	members := make([]member, n)
	var ranks sync.WaitGroup
	ranks.Add(n)
	for i := range members {
		members[i] = member{g: g, rank: i, world: i}
		go func() {
			defer ranks.Done()
			runRank(rankCtx, &members[i], f)
		}()
	}
	ranks.Wait()

	if !unwatch() {
		<-watched
	}
	w.mu.Lock()
	w.stopTimer()
	w.mu.Unlock()
	w.timers.Wait()
	return w.result()
}

// runRank calls f and reports its end to the world, even after a panic or runtime.Goexit (as in t.FailNow).
func runRank(ctx context.Context, m *member, f func(context.Context, Comm) error) {
	err := errors.New("the goroutine of the rank was ended by runtime.Goexit")
	returned := false
	defer func() {
		if !returned {
			if v := recover(); v != nil {
				err = &PanicError{v, debug.Stack()}
			}
		}
		m.g.w.leave(m.world, err)
	}()
	err = f(ctx, m)
	returned = true
}

// note records a rank's own error for the result of Run.
func (w *world) note(rank int, err error) {
	f := w.failure.Load()
	var re *RankError
	if own := (*agreedError)(nil); errors.As(err, &own) {
		err = own.own // the other part is another rank's error
	} else if err == f.err || errors.Is(err, f.err) || errors.Is(err, error(f.broken)) || errors.Is(err, context.Canceled) {
		return // the error only repeats why the communication broke
	}
	if errors.As(err, &re) && error(re) == err {
		rank, err = re.Rank, re.Err
	}
	text := err.Error()
	if strings.Contains(f.text, text) {
		return // the first cause includes this error
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.distinct[text]:
	case len(w.failed) == maxDistinct:
		w.more++
	default:
		if w.distinct == nil {
			w.distinct = map[string]bool{}
		}
		w.distinct[text] = true
		w.failed = append(w.failed, RankError{Rank: rank, Err: err})
	}
}

// result returns the error of Run, after all ranks have left.
func (w *world) result() error {
	f := w.failure.Load()
	switch {
	case f == nil:
		return nil
	case f.ctxErr != nil && f.rank < 0 && w.numFailed == 0:
		return nil // the run was cancelled after the work was done
	case len(w.failed) == 0:
		return f.err
	}
	slices.SortFunc(w.failed, func(a, b RankError) int { return a.Rank - b.Rank })
	errs := []error{f.err}
	for i := range w.failed {
		errs = append(errs, &w.failed[i])
	}
	if w.more > 0 {
		errs = append(errs, fmt.Errorf("%d more ranks had errors", w.more))
	}
	return errors.Join(errs...)
}

// Self returns a Comm of one rank. It has no goroutine and needs no Run.
func Self() Comm {
	return &member{g: &group{w: newWorld(1, nil), n: 1}}
}
