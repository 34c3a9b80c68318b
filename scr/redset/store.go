package redset

import (
	"blobio/internal/base/vfs"
)

// store is where the bytes of one member are: what is read, and what is being made.
type store struct {
	in     *logical
	pay    vfs.File // the redundancy file; nil if lost
	payOff int64    // where in it the payload begins

	out       *logical // files being rebuilt; nil for none
	payOut    *output  // the redundancy file being written; nil for none
	payOutOff int64

	closed bool
}

// read fills b with bytes [at, at+len(b)) of an element.
func (s *store) read(e elem, at int64, b []byte) error {
	if e.parity {
		return readFull(s.pay, b, s.payOff+e.off+at)
	}
	return s.in.readAt(b, e.off+at)
}

// write is the reverse. What has no place to be written to is dropped.
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

// close releases what is open, once, and returns the first error of what was written. Other ranks
// may still be reading if the communication broke: they get errors.
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
