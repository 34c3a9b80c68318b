package write

import (
	"context"
	"slices"
	"sync"
)

// later is what one flush of a team leaves to the background: what this rank writes itself, and
// windows of an aggregator. The windows wait in copies under the cap of memory.
type later struct {
	proc *Process
	own  chan func(ctx context.Context) (int64, error) // at most one; closed when it is known whether there is one
	told sync.Once

	mu     sync.Mutex
	change sync.Cond
	list   []lateWindow
	busy   bool // one of them is being written
	closed bool
	err    error // the first; what comes after it is dropped
}

// lateWindow is a window with what is to be done with it.
type lateWindow struct {
	b     []byte
	write func(b []byte) error
}

func newLater(p *Process) *later {
	l := &later{proc: p, own: make(chan func(context.Context) (int64, error), 1)}
	l.change.L = &l.mu
	return l
}

// do carries out what this rank writes itself, or leaves that to l, if it is there.
func (l *later) do(ctx context.Context, work func(ctx context.Context) (int64, error)) (int64, error) {
	if l == nil {
		return work(ctx)
	}
	l.own <- work
	return 0, nil
}

// add takes a copy of a window, or if there is no room for one waits until what came before is
// written, and writes it.
func (l *later) add(b []byte, write func(b []byte) error) error {
	for l.proc.reserve(int64(len(b))) != nil {
		l.mu.Lock()
		if len(l.list) == 0 && !l.busy {
			err := l.err
			l.mu.Unlock()
			if err != nil {
				return nil // reported when it lands
			}
			return write(b)
		}
		l.change.Wait()
		l.mu.Unlock()
	}
	b = slices.Clone(b)
	l.mu.Lock()
	l.list = append(l.list, lateWindow{b, write})
	l.mu.Unlock()
	l.change.Broadcast()
	return nil
}

// onlyWindows says that what this rank writes itself is handed over, or nothing: the windows, for which add may
// have to wait, come after it.
func (l *later) onlyWindows() { l.told.Do(func() { close(l.own) }) }

// close says that nothing more comes. With an error what is there need not be written.
func (l *later) close(err error) {
	l.onlyWindows()
	l.mu.Lock()
	l.closed = true
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	l.change.Broadcast()
}

// run writes what is added until close.
func (l *later) run(ctx context.Context) (total int64, err error) {
	if own, ok := <-l.own; ok {
		total, err = own(ctx)
		l.fail(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.list) == 0 && !l.closed {
			l.change.Wait()
		}
		if len(l.list) == 0 {
			return total, l.err
		}
		x := l.list[0]
		l.list = l.list[1:]
		l.busy = true
		err := l.err
		l.mu.Unlock()
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = x.write(x.b)
			total += int64(len(x.b))
		}
		l.proc.release(int64(len(x.b)))
		l.fail(err)
		l.mu.Lock()
		l.busy = false
		l.change.Broadcast()
	}
}

func (l *later) fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
}
