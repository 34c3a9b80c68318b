package par

import (
	"context"
	"sync"
)

// Task is work in the background: one goroutine that can be asked to stop, and whose error is kept for callers of Err. Its methods
// may be called by any goroutine.
type Task struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   func(ctx context.Context) error
	start  sync.Once
	done   chan struct{}
	err    error // valid after done
}

// NewTask prepares work, which Go begins. The context of the work is done when ctx is, or after Stop.
func NewTask(ctx context.Context, work func(ctx context.Context) error) *Task {
	t := &Task{work: work, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Go begins the work, once; after Stop too, so that the work itself says how it ends.
func (t *Task) Go() {
	t.start.Do(func() {
		work := t.work
		t.work = nil // what it holds is free when it has ended
		go func() {
			defer close(t.done)
			defer t.cancel()
			t.err = work(t.ctx)
		}()
	})
}

// Stop asks the work to end. It does not wait.
func (t *Task) Stop() { t.cancel() }

// Done is closed when the work has ended.
func (t *Task) Done() <-chan struct{} { return t.done }

// Over reports whether the work has ended.
func (t *Task) Over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Wait waits until the work has ended. If ctx is done before, Wait returns its error.
func (t *Task) Wait(ctx context.Context) error {
	select {
	case <-t.done:
	case <-ctx.Done():
		if !t.Over() {
			return ctx.Err()
		}
	}
	return nil
}

// Err is the error of work that has ended, the same for all who ask; before that it waits.
func (t *Task) Err() error {
	<-t.done
	return t.err
}
