package par

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Workers returns n, or GOMAXPROCS if n is 0.
func Workers(n int) int {
	if n == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// Pause returns after d, or with the error of ctx when ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Do calls f for items 0 to n-1, on at most workers goroutines, and waits.
func Do(workers, n int, f func(i int)) {
	if min(workers, n) <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	p := pool{n: n}
	_ = p.run(context.Background(), min(workers, n), func(w *worker) error {
		for w.take() {
			f(w.at)
		}
		return nil
	})
}

// Each calls f for items 0 to n-1, on at most workers goroutines, and waits. It returns the error of the lowest item. Without an
// error it returns the cause of the end of ctx, which may come before all items have begun.
func Each(ctx context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	return Crew(ctx, workers, n, func(ctx context.Context, items iter.Seq[int]) error {
		for i := range items {
			if err := f(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Crew is Each for workers that keep state, such as a buffer, between items. It calls work once on each of at most workers
// goroutines, and each call ranges over some of the items. An error of work counts as the error of its current item. An error
// before the first item precedes all others. The context belongs to the current item.
func Crew(ctx context.Context, workers, n int, work func(ctx context.Context, items iter.Seq[int]) error) error {
	if n == 0 {
		return context.Cause(ctx)
	}
	p := pool{n: n, watch: ctx.Done()}
	workers = max(min(workers, n), 1)
	crew := func(w *worker) error {
		return work(w.ctx, func(yield func(int) bool) {
			for w.take() && yield(w.at) {
			}
		})
	}
	if workers == 1 {
		if err := crew(&worker{p: &p, ctx: ctx}); err != nil {
			return err
		}
	} else {
		p.cancels = true
		if err := p.run(ctx, workers, crew); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// Ordered returns the results of f for items 0 to n-1, in order. At most workers items run at once. At most twice as many items
// are running or have results that the caller has not yet taken from the sequence. When the caller stops or ctx ends, Ordered
// waits for running items. After the end of ctx the sequence is incomplete.
func Ordered[T any](ctx context.Context, workers, n int, f func(ctx context.Context, i int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		if workers = min(workers, n); workers <= 1 {
			for i := range n {
				if ctx.Err() != nil {
					return
				}
				if r := f(ctx, i); ctx.Err() != nil || !yield(i, r) {
					return
				}
			}
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		ahead := 2 * workers
		slots, tokens := make([]chan T, ahead), make(chan struct{}, ahead)
		for i := range slots {
			slots[i] = make(chan T, 1)
		}
		p := pool{n: n, watch: ctx.Done(), onPanic: cancel}
		p.start(ctx, workers, func(w *worker) error {
			for {
				select { // the slot is acquired before the item is taken, so that the lowest item never waits
				case tokens <- struct{}{}:
				case <-ctx.Done():
					return nil
				}
				if !w.take() {
					return nil
				}
				slots[w.at%ahead] <- f(ctx, w.at)
			}
		})
		defer func() { _ = p.wait() }()
		defer cancel()
		for i := range n {
			var r T
			select {
			case r = <-slots[i%ahead]:
			case <-ctx.Done():
			}
			if ctx.Err() != nil || !yield(i, r) {
				return
			}
			<-tokens
		}
	}
}

// Panic is the panic of an item, with the stack of its goroutine.
type Panic struct {
	Value any
	Stack []byte
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// pool distributes items.
type pool struct {
	n       int
	watch   <-chan struct{} // no item begins after watch is closed
	cancels bool            // each worker has its own context
	onPanic func()          // called on a panic, because no caller waits for the item

	mu      sync.Mutex
	next    int
	stop    bool
	first   int // item of err
	err     error
	panics  *Panic
	panicAt int
	exits   bool
	workers []*worker
	group   sync.WaitGroup
}

type worker struct {
	p      *pool
	ctx    context.Context
	cancel context.CancelCauseFunc
	at     int // the current item; n at the end
}

// take gives w the next item.
func (w *worker) take() bool {
	p := w.p
	over := false
	select {
	case <-p.watch:
		over = true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if over || p.stop || p.next == p.n {
		w.at = p.n
		return false
	}
	w.at = p.next
	p.next++
	return true
}

// fail ends the work at an item.
func (p *pool) fail(at int, err error, panics *Panic, exits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = true
	p.exits = p.exits || exits
	if panics != nil && (p.panics == nil || at < p.panicAt) {
		p.panics, p.panicAt = panics, at
	}
	if err != nil && (p.err == nil || at < p.first) {
		p.err, p.first = err, at
	}
	for _, w := range p.workers {
		if w.cancel != nil && w.at > at {
			w.cancel(err)
		}
	}
}

// add adds workers.
func (p *pool) add(ctx context.Context, workers int) {
	p.workers = make([]*worker, workers)
	for i := range p.workers {
		w := &worker{p: p, ctx: ctx, at: -1}
		if p.cancels {
			w.ctx, w.cancel = context.WithCancelCause(ctx)
		}
		p.workers[i] = w
	}
}

// start calls work on goroutines.
func (p *pool) start(ctx context.Context, workers int, work func(w *worker) error) {
	p.add(ctx, workers)
	for _, w := range p.workers {
		p.group.Go(func() { w.do(work) })
	}
}

// run calls work on goroutines and waits. The first worker is the caller's goroutine, because otherwise the caller would be put to
// sleep and woken up again. That is slow if it is bound to a thread, as in a call from C.
func (p *pool) run(ctx context.Context, workers int, work func(w *worker) error) error {
	p.add(ctx, workers)
	for _, w := range p.workers[1:] {
		p.group.Go(func() { w.do(work) })
	}
	defer p.end() // if work calls Goexit
	p.workers[0].do(work)
	return p.wait()
}

// do calls work, and ends the work of all workers after an error, a panic or Goexit.
func (w *worker) do(work func(w *worker) error) {
	p := w.p
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			pv, ok := v.(*Panic)
			if !ok {
				pv = &Panic{v, debug.Stack()}
			}
			p.fail(w.at, nil, pv, false)
		} else {
			p.fail(w.at, nil, nil, true)
		}
		if p.onPanic != nil {
			p.onPanic()
		}
	}()
	err := work(w)
	returned = true
	if err != nil {
		p.fail(w.at, err, nil, false)
	}
}

// end waits for all workers.
func (p *pool) end() {
	p.group.Wait()
	for _, w := range p.workers {
		if w.cancel != nil {
			w.cancel(nil)
		}
	}
}

// wait waits for all workers. It panics if an item did.
func (p *pool) wait() error {
	p.end()
	switch {
	case p.panics != nil:
		panic(p.panics)
	case p.exits:
		runtime.Goexit()
	}
	return p.err
}
