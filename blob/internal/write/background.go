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

// syncMin is how many bytes a process writes to a subfile in the background before it syncs
// it there, so that Close finds little left to wait for. Few bytes are not worth a wait of the disk.
const syncMin = 32 << 20

// flight is a flush in the background, and after it a sync.
type flight struct {
	cancel  context.CancelCauseFunc
	written chan struct{} // closed when nothing that is lent is used any more; err is set then
	done    chan struct{} // closed when its goroutine ends; syncErr is set then
	err     error
	syncErr error
	syncs   bool // it went on to sync
}

// errStopped is why a flight ends early.
var errStopped = fmt.Errorf("the background flush was stopped: %w", dataset.ErrBroken)

// launch runs work in the background, which returns how many bytes it wrote to the file; copied bytes are
// released when it has ended. b.mu is held, and the flight before has landed.
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

// over reports whether nothing more is to be learned of a flight.
func (f *flight) over() bool {
	select {
	case <-f.done:
		return f.err == nil && f.syncErr == nil
	default:
		return false
	}
}

// syncDue counts written bytes, and reports whether they are to be synced now: one sync at a time.
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

// land waits until everything under way is written. It reports errors of syncs that are known by then.
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

// drain waits for the syncs too.
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

// ground stops what is under way, and waits for it.
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

// alone carries out the leader's work on data that ranks have lent, unless one
// of them has given up already.
func (b *background) alone(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return fmt.Errorf("%s: another rank has failed: %w", b.file.Name, dataset.ErrBroken)
	}
	return f()
}

// stop waits for the leader, and ends what is in the background; when it returns nothing that is lent is used any more.
func (b *background) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.ground()
}

// background is what runs beside the ranks: at most one flush, and syncs.
type background struct {
	file *outFile
	proc *process.Process
	opt  *dataset.Settings

	mu      sync.Mutex // held while the leader reads what the ranks have lent
	stopped bool
	flights []*flight // under mu: the last one and those that still sync

	unsynced atomic.Int64 // bytes written in the background
	syncing  atomic.Bool  // a flight does
}

// later is what one flush of a team leaves to the background: what this rank writes itself, and
// windows of an aggregator. The windows wait in copies under the cap of memory.
type later struct {
	proc *process.Process
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

func newLater(p *process.Process) *later {
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
	for l.proc.Reserve(int64(len(b))) != nil {
		l.mu.Lock()
		if len(l.list) == 0 && !l.busy {
			err := l.err
			l.mu.Unlock()
			if err != nil {
				return nil // the next call that waits for it returns the error
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
