package cdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// source reads a header forwards, in pieces, and knows where it is.
type source struct {
	r     io.ReaderAt
	pos   int64 // of the next byte, relative to the header
	size  int64 // bytes that r has
	limit int64 // MaxHeader
	buf   []byte
	bufAt int64 // position of buf[0]
	big   bool
	o     *DecodeOptions
}

// sourcePiece is the unit of reading and of growing memory by a length that
// the file claims.
const sourcePiece = 64 << 10

func (s *source) fault(at int64, field string, class error, format string, args ...any) error {
	return s.o.fault(at, field, class, fmt.Sprintf(format, args...))
}

// need fails when n more bytes (n >= 0) are not there, or are over the cap.
func (s *source) need(n int64, field string) error {
	if n > s.size-s.pos {
		return s.fault(s.pos, field, ErrTruncated, "%d bytes, but the file ends after %d", n, s.size-s.pos)
	}
	if n > s.limit-s.pos {
		return s.fault(s.pos, field, ErrTooLarge, "the header needs %d bytes or more, cap is %d", s.pos+n, s.limit)
	}
	return nil
}

// bytes returns the next n bytes, n <= sourcePiece; valid until the next call.
func (s *source) bytes(n int, field string) ([]byte, error) {
	if err := s.need(int64(n), field); err != nil {
		return nil, err
	}
	at := s.pos - s.bufAt
	if at+int64(n) > int64(len(s.buf)) {
		want := min(s.size-s.pos, s.limit-s.pos, sourcePiece)
		if cap(s.buf) < int(want) {
			s.buf = make([]byte, want)
		}
		s.buf = s.buf[:want]
		got, err := s.r.ReadAt(s.buf, s.pos)
		if int64(got) < want && (err == nil || errors.Is(err, io.EOF)) {
			s.buf = s.buf[:got]
			if got < n {
				s.bufAt = s.pos
				return nil, s.fault(s.pos, field, ErrTruncated, "%d bytes, but the file ends after %d", n, got)
			}
			err = nil
		} else if int64(got) == want {
			err = nil
		}
		if err != nil {
			return nil, s.fault(s.pos, field, err, "cannot be read")
		}
		s.bufAt, at = s.pos, 0
	}
	s.pos += int64(n)
	return s.buf[at : at+int64(n) : at+int64(n)], nil
}

func (s *source) u32(field string) (uint32, error) {
	b, err := s.bytes(4, field)
	if err != nil {
		return 0, err
	}
	if s.big {
		return binary.BigEndian.Uint32(b), nil
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *source) u64(field string) (uint64, error) {
	b, err := s.bytes(8, field)
	if err != nil {
		return 0, err
	}
	if s.big {
		return binary.BigEndian.Uint64(b), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a non-negative count, length, id or vsize of the version's width.
func (s *source) count(v Version, field string) (int64, error) {
	if v != CDF5 {
		n, err := s.u32(field)
		return int64(n), err
	}
	n, err := s.u64(field)
	if err == nil && n > 1<<63-1 {
		err = s.fault(s.pos-8, field, ErrCorrupt, "%#x, want a non-negative 64-bit number", n)
	}
	return int64(n), err
}

// long appends the next n bytes to dst, growing it piece by piece.
func (s *source) long(dst []byte, n int64, field string) ([]byte, error) {
	if err := s.need(n, field); err != nil {
		return dst, err
	}
	for n > 0 {
		b, err := s.bytes(int(min(n, sourcePiece)), field)
		if err != nil {
			return dst, err
		}
		dst = append(dst, b...)
		n -= int64(len(b))
	}
	return dst, nil
}

// pad skips the bytes that round n up to a multiple of 4, and notes it when
// they are not zero.
func (s *source) pad(n int64, field string) error {
	k := int(-n & 3)
	if k == 0 {
		return nil
	}
	at := s.pos
	b, err := s.bytes(k, field)
	if err != nil {
		return err
	}
	for _, c := range b {
		if c != 0 {
			s.o.note(at, field, fmt.Sprintf("pad % x, want zeros", b))
			break
		}
	}
	return nil
}
