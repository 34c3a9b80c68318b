package redset

import (
	"errors"
	"io/fs"
	"sync"

	"blobio/internal/base/vfs"
)

// syncEvery is how many bytes are written to a file before those are sent to the device, while
// others are still computed.
const syncEvery = 32 << 20

// output is a file that several workers write to. One at a time: of Go's locks a waiter costs nothing, while a
// system that lets one writer at a time into a file may spin.
type output struct {
	vfs.File

	mu      sync.Mutex
	dirty   int64 // bytes since the last sync began
	syncing bool
	closed  bool
	err     error // of a sync: a system may tell it only once
	syncs   sync.WaitGroup
}

// WriteAt writes, and begins to sync when much was written.
func (o *output) WriteAt(b []byte, off int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, fs.ErrClosed
	}
	n, err := o.File.WriteAt(b, off)
	o.dirty += int64(n)
	if err == nil && o.dirty >= syncEvery && !o.syncing {
		o.dirty, o.syncing = 0, true
		o.syncs.Go(func() {
			err := o.File.Sync()
			o.mu.Lock()
			defer o.mu.Unlock()
			o.syncing = false
			o.err = errors.Join(o.err, err)
		})
	}
	return n, err
}

// Sync syncs all that was written before.
func (o *output) Sync() error {
	o.syncs.Wait()
	err := o.File.Sync()
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.err, err)
}

// Close ends the use of the file, and returns also what syncs returned.
func (o *output) Close() error {
	o.mu.Lock()
	o.closed = true // no sync begins from now on
	o.mu.Unlock()
	o.syncs.Wait()
	return errors.Join(o.err, o.File.Close())
}
