package serve

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errBusy means that too many requests wait, or that this request has waited too long.
var errBusy = errors.New("the server is busy")

// budget is a fixed amount of a resource: bytes or slots. Requests are served in order.
type budget struct {
	mu    sync.Mutex
	all   int64
	free  int64
	queue []*waiter
	most  int           // maximum number of waiting requests
	wait  time.Duration // maximum wait; 0: no limit
}

type waiter struct {
	n     int64
	ready chan struct{}
}

func newBudget(all int64, most int, wait time.Duration) *budget {
	return &budget{all: all, free: all, most: most, wait: wait}
}

// take waits for n units, but at most for the whole budget, and returns a function that gives the units back.
func (b *budget) take(ctx context.Context, n int64) (give func(), err error) {
	n = min(n, b.all)
	b.mu.Lock()
	if len(b.queue) == 0 && b.free >= n {
		b.free -= n
		b.mu.Unlock()
		return func() { b.give(n) }, nil
	}
	if len(b.queue) >= b.most {
		b.mu.Unlock()
		return nil, errBusy
	}
	w := &waiter{n, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()

	var late <-chan time.Time
	if b.wait > 0 {
		t := time.NewTimer(b.wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-w.ready:
		return func() { b.give(n) }, nil
	case <-late:
		err = errBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	i := slices.Index(b.queue, w)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.serve() // the next request may need less
	}
	b.mu.Unlock()
	if i < 0 { // the units were granted at the same moment
		b.give(n)
	}
	return nil, err
}

// share is like take, but the caller can give the amount back in steps.
func (b *budget) share(ctx context.Context, n int64) (*share, error) {
	_, err := b.take(ctx, n)
	if err != nil {
		return nil, err
	}
	return &share{b, min(n, b.all)}, nil
}

// A share is a held part of a budget.
type share struct {
	b *budget
	n int64
}

// shrink gives back all units of the share except n.
func (s *share) shrink(n int64) {
	n = min(n, s.n)
	s.b.give(s.n - n)
	s.n = n
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.free += n
	b.serve()
	b.mu.Unlock()
}

// serve grants the free amount to the head of the queue. The caller holds b.mu.
func (b *budget) serve() {
	for len(b.queue) > 0 && b.free >= b.queue[0].n {
		w := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		b.free -= w.n
		close(w.ready)
	}
}
