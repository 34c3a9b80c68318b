package redset

import (
	"sync"

	"blobio/internal/vfs"
)

// store is where the bytes of one member are: what is read, and what is being made.
type store struct {
	in     *logical
	pay    vfs.File // the redundancy file; nil if lost
	payOff int64    // where in it the payload begins

	payOnce sync.Once
	payView *view // of the payload, once it was wanted

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

// view returns the bytes that read would fill b with, and the view to be released; nil if they have to be read.
func (s *store) view(e elem, at, n int64) ([]byte, *view) {
	v, off := s.viewOf(e, at, n)
	if v == nil {
		return nil, nil
	}
	b := v.acquire(off, n)
	if b == nil {
		return nil, nil
	}
	return b, v
}

func (s *store) viewOf(e elem, at, n int64) (*view, int64) {
	if !e.parity {
		return s.in.view(e.off+at, n)
	}
	return s.payload(), e.off + at
}

// payload returns the view of the payload.
func (s *store) payload() *view {
	s.payOnce.Do(func() {
		s.payView = &view{}
		if s.pay == nil {
			return
		}
		if size, err := s.pay.Size(); err == nil && size-s.payOff >= minMap {
			s.payView.m, _ = vfs.Map(s.pay, s.payOff, size-s.payOff)
		}
	})
	return s.payView
}

// drop gives back what is mapped of bytes [at, at+n) of an element.
func (s *store) drop(e elem, at, n int64) {
	switch {
	case n == 0:
	case e.parity:
		s.payload().drop(e.off+at, e.off+at+n)
	default:
		s.in.drop(e.off+at, n)
	}
}

// name is that of the file of an element, or of the first of several.
func (s *store) name(e elem, at int64) string {
	if e.parity {
		return s.pay.Name()
	}
	if i := s.in.firstBeyond(e.off + at); i < len(s.in.parts) {
		return s.in.parts[i].name
	}
	return ""
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
	s.payOnce.Do(func() {})
	if s.payView != nil {
		s.payView.close()
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
