package write

import (
	"blobio/blob/internal/dataset"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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
var errStopped = fmt.Errorf("the flush in the background was stopped: %w", dataset.ErrBroken)

// launch runs work in the background, which returns how many bytes it wrote to the file; copied bytes are
// released when it has ended. b.mu is held, and the flight before has landed.
func (b *background) launch(ctx context.Context, copied int64, work func(ctx context.Context) (int64, error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{cancel: cancel, written: make(chan struct{}), done: make(chan struct{})}
	b.flights = append(slices.DeleteFunc(b.flights, (*flight).over), f)
	b.proc.leave()
	go func() {
		defer close(f.done)
		defer cancel(nil)
		var n int64
		n, f.err = work(ctx)
		b.proc.left(copied)
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
	proc *Process
	opt  *dataset.Settings

	mu      sync.Mutex // held while the leader reads what the ranks have lent
	stopped bool
	flights []*flight // under mu: the last one and those that still sync

	unsynced atomic.Int64 // bytes written in the background
	syncing  atomic.Bool  // a flight does
}
