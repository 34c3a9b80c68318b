package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/process"
)

// syncMin is the number of bytes that a process writes to a subfile in the background before it syncs the file. The syncs leave
// little work for Close. A sync of fewer bytes is not worth the wait for the disk.
const syncMin = 32 << 20

// flight is one background flush and the sync that may follow it.
type flight struct {
	cancel  context.CancelCauseFunc
	written chan struct{} // closed when the flight no longer uses lent data; err is set before
	done    chan struct{} // closed when the goroutine ends; syncErr is set before
	err     error
	syncErr error
	syncs   bool // the flight includes a sync
}

// errStopped is the cause of a cancelled flight.
var errStopped = fmt.Errorf("the background flush was stopped: %w", dataset.ErrBroken)

// launch runs work in the background. work returns the number of bytes that it wrote to the file. launch releases copied bytes
// when work has returned. The caller holds b.mu, and the data of the previous flight are in the file.
func (b *background) launch(ctx context.Context, copied int64, work func(ctx context.Context) (int64, error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{cancel: cancel, written: make(chan struct{}), done: make(chan struct{})}
	b.flights = append(slices.DeleteFunc(b.flights, (*flight).over), f)
	b.proc.Leave()
	go func() {
		defer close(f.done)
		defer cancel(nil)
		var n int64
		n, f.err = work(ctx)
		b.proc.Left(copied)
		f.syncs = f.err == nil && b.syncDue(n)
		close(f.written)
		if f.syncs {
			f.syncErr = b.file.sync()
			b.syncing.Store(false)
		}
	}()
}

// over reports whether the flight has ended and land or drain has seen its errors.
func (f *flight) over() bool {
	select {
	case <-f.done:
		return f.err == nil && f.syncErr == nil
	default:
		return false
	}
}

// syncDue counts n written bytes and reports whether this flight must sync. At most one flight syncs at a time.
func (b *background) syncDue(n int64) bool {
	if b.opt.Durability == dataset.DurableNone {
		return false
	}
	least := b.opt.SyncMin
	if least == 0 {
		least = syncMin
	}
	if b.unsynced.Add(n) < least || !b.syncing.CompareAndSwap(false, true) {
		return false
	}
	b.unsynced.Store(0)
	return true
}

// land waits until every flight has written its data. It also returns the errors of syncs that have already ended.
func (b *background) land(ctx context.Context) error {
	for _, f := range b.flown() {
		select {
		case <-f.written:
		case <-ctx.Done():
			return ctx.Err()
		}
		if f.err != nil {
			return f.err
		}
		select {
		case <-f.done:
			if f.syncErr != nil {
				return f.syncErr
			}
		default:
		}
	}
	return nil
}

// drain waits until every flight has written and synced.
func (b *background) drain() (err error) {
	for _, f := range b.flown() {
		<-f.done
		err = errors.Join(err, f.err, f.syncErr)
	}
	b.mu.Lock()
	b.flights = nil
	b.mu.Unlock()
	return err
}

// ground cancels all flights and waits for them.
func (b *background) ground() {
	for _, f := range b.flown() {
		f.cancel(errStopped)
		<-f.done
	}
}

func (b *background) flown() []*flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.flights)
}

// alone runs f, which reads data that ranks have lent, unless a rank has called stop.
func (b *background) alone(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return fmt.Errorf("%s: another rank has failed: %w", b.file.Name, dataset.ErrBroken)
	}
	return f()
}

// stop waits for the leader and cancels all flights. When it returns, no goroutine uses lent data.
func (b *background) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.ground()
}

// background holds the flights of a file: at most one flush, and any number of syncs.
type background struct {
	file *outFile
	proc *process.Process
	opt  *dataset.Settings

	mu      sync.Mutex
	stopped bool
	flights []*flight // guarded by mu: the flight of the last flush, and earlier flights that still sync

	unsynced atomic.Int64 // bytes written in the background since the last sync
	syncing  atomic.Bool  // a flight is syncing
}

// later collects the background part of a team's flush: the write of this rank's own data, and copies of the windows that this
// rank writes as an aggregator. The copies stay within the memory limit.
type later struct {
	proc *process.Process
	own  chan func(ctx context.Context) (int64, error) // holds the write of this rank's own data, if there is one; then closed
	told sync.Once

	mu     sync.Mutex
	change sync.Cond
	list   []lateWindow
	busy   bool
	closed bool
	err    error // the first error; later windows are dropped
}

// lateWindow is the copy of a window and the function that writes it.
type lateWindow struct {
	b     []byte
	write func(b []byte) error
}

func newLater(p *process.Process) *later {
	l := &later{proc: p, own: make(chan func(context.Context) (int64, error), 1)}
	l.change.L = &l.mu
	return l
}

// do runs work at once if l is nil. Otherwise it leaves work to l.run.
func (l *later) do(ctx context.Context, work func(ctx context.Context) (int64, error)) (int64, error) {
	if l == nil {
		return work(ctx)
	}
	l.own <- work
	return 0, nil
}

// add copies a window into the list. If there is no memory for a copy, it waits until all earlier windows are written and writes
// this one directly.
func (l *later) add(b []byte, write func(b []byte) error) error {
	for l.proc.Reserve(int64(len(b))) != nil {
		l.mu.Lock()
		if len(l.list) == 0 && !l.busy {
			err := l.err
			l.mu.Unlock()
			if err != nil {
				return nil // run returns the error
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

// onlyWindows lets run know that this rank has no more writes of its own, so that run begins with the windows. It must be called
// before add, which may wait until run has written windows.
func (l *later) onlyWindows() { l.told.Do(func() { close(l.own) }) }

// close ends the list. If err is not nil, run drops the remaining windows.
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

// run writes the added windows until close.
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
		l.proc.Release(int64(len(x.b)))
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
