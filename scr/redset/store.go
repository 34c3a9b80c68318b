package redset

import (
	"blobio/internal/base/vfs"
	"errors"
	"io/fs"
	"sync"
)

// store holds the bytes of one member: the files to read and the files to write.
type store struct {
	in     *logical
	pay    vfs.File // the redundancy file; nil if it is lost
	payOff int64    // offset of the payload in the redundancy file

	out       *logical // files that are being rebuilt; nil if there are none
	payOut    *output  // the redundancy file that is being written; nil if there is none
	payOutOff int64

	closed bool
}

// read fills b with the bytes [at, at+len(b)) of an element.
func (s *store) read(e elem, at int64, b []byte) error {
	if e.parity {
		return readFull(s.pay, b, s.payOff+e.off+at)
	}
	return s.in.readAt(b, e.off+at)
}

// write writes b at offset at of an element. If the element has no destination, the bytes are ignored.
func (s *store) write(e elem, at int64, b []byte) error {
	if e.parity {
		if s.payOut == nil {
			return nil
		}
		_, err := s.payOut.WriteAt(b, s.payOutOff+e.off+at)
		return err
	}
	if s.out == nil {
		return nil
	}
	return s.out.writeAt(b, e.off+at)
}

// close closes the open files, once. It returns the first error of the files that were written. If the communication has failed,
// other ranks may still be reading, and they get errors.
func (s *store) close() error {
	if s == nil || s.closed {
		return nil
	}
	s.closed = true
	var first error
	if s.in != nil {
		_ = s.in.close()
	}
	if s.pay != nil {
		_ = s.pay.Close()
	}
	if s.out != nil {
		first = s.out.close()
	}
	if s.payOut != nil {
		if err := s.payOut.Close(); first == nil {
			first = err
		}
	}
	return first
}

// syncEvery is the number of bytes after which a sync of a written file begins. Other bytes are computed during the sync.
const syncEvery = 32 << 20

// output is a file with several writers that write one at a time. Waiting for a lock of Go needs no processor time, while some
// systems spin if several threads write to a file.
type output struct {
	vfs.File

	mu      sync.Mutex
	dirty   int64 // number of bytes written since the last sync began
	syncing bool
	closed  bool
	err     error // error of a sync; kept because a system may report it only once
	syncs   sync.WaitGroup
}

// WriteAt writes, and starts a sync after syncEvery bytes.
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

// Sync syncs all earlier writes.
func (o *output) Sync() error {
	err := o.wait()
	return errors.Join(err, o.File.Sync())
}

// wait waits for the syncs that WriteAt has started, and returns their errors.
func (o *output) wait() error {
	o.syncs.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close ends the use of the file. It also returns the errors of earlier syncs.
func (o *output) Close() error {
	o.mu.Lock()
	o.closed = true // no sync may start any more
	o.mu.Unlock()
	o.syncs.Wait()
	return errors.Join(o.err, o.File.Close())
}
