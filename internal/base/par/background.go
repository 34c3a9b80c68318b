package par

import (
	"context"
	"sync"
)

// Task is work in one background goroutine. Stop asks the work to end, and Err returns the error of the work. Any
// goroutine may call its methods.
type Task struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   func(ctx context.Context) error
	start  sync.Once
	done   chan struct{}
	err    error // valid after done
}

// NewTask prepares work; Go starts it. The context of the work ends with ctx or with Stop.
func NewTask(ctx context.Context, work func(ctx context.Context) error) *Task {
	t := &Task{work: work, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Go starts the work once. Go starts the work even after Stop, so that the work itself decides how it ends.
func (t *Task) Go() {
	t.start.Do(func() {
		work := t.work
		t.work = nil // let the garbage collector free the work's memory
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

// Err waits for the end of the work and returns its error, the same to all callers.
func (t *Task) Err() error {
	<-t.done
	return t.err
}
