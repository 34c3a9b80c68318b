package cdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// source reads a header forwards, in pieces, and knows its position.
type source struct {
	r     io.ReaderAt
	pos   int64 // offset of the next byte, relative to the header
	size  int64 // length of r
	limit int64 // MaxHeader
	buf   []byte
	bufAt int64 // offset of buf[0]
	big   bool
	o     *DecodeOptions
}

// field names a field of the header. It becomes text only in an error, because a header has tens of thousands of fields.
type field struct {
	owner string // "dim", "var", "global", or the whole field name
	name  string // name of the owner, if known
	part  string // " att"
	index int64  // index of the part or the owner, from 1; 0: none
	sub   string // name of the part, if known
	what  string // " nelems"
}

func (f field) String() string {
	s := f.owner
	if f.name != "" {
		s += fmt.Sprintf(" %q", f.name)
	}
	s += f.part
	if f.index > 0 {
		s += fmt.Sprintf("[%d]", f.index-1)
	}
	if f.sub != "" {
		s += " " + f.sub
	}
	return s + f.what
}

func (f field) of(what string) field {
	f.what = what
	return f
}

// sourcePiece is the maximum of bytes per read. A buffer whose length comes from the file grows by at most sourcePiece bytes
// at a time.
const sourcePiece = 64 << 10

func (s *source) fault(at int64, f field, class error, format string, args ...any) error {
	return s.o.fault(at, f.String(), class, fmt.Sprintf(format, args...))
}

// need returns an error if n more bytes (n >= 0) are missing or exceed the limit.
func (s *source) need(n int64, f field) error {
	if n > s.size-s.pos {
		return s.fault(s.pos, f, ErrTruncated, "%d bytes, but only %d bytes are left in the file", n, s.size-s.pos)
	}
	if n > s.limit-s.pos {
		return s.fault(s.pos, f, ErrTooLarge, "the header needs at least %d bytes, want at most %d", s.pos+n, s.limit)
	}
	return nil
}

// bytes returns the next n bytes, n <= sourcePiece. They are valid until the next call.
func (s *source) bytes(n int, f field) ([]byte, error) {
	if err := s.need(int64(n), f); err != nil {
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
				return nil, s.fault(s.pos, f, ErrTruncated, "%d bytes, but only %d bytes are left in the file", n, got)
			}
			err = nil
		} else if int64(got) == want {
			err = nil
		}
		if err != nil {
			return nil, s.fault(s.pos, f, err, "cannot read the file")
		}
		s.bufAt, at = s.pos, 0
	}
	s.pos += int64(n)
	return s.buf[at : at+int64(n) : at+int64(n)], nil
}

func (s *source) u32(f field) (uint32, error) {
	b, err := s.bytes(4, f)
	if err != nil {
		return 0, err
	}
	if s.big {
		return binary.BigEndian.Uint32(b), nil
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *source) u64(f field) (uint64, error) {
	b, err := s.bytes(8, f)
	if err != nil {
		return 0, err
	}
	if s.big {
		return binary.BigEndian.Uint64(b), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a non-negative count, length, id or vsize of the version's width.
func (s *source) count(v Version, f field) (int64, error) {
	if v != CDF5 {
		n, err := s.u32(f)
		return int64(n), err
	}
	n, err := s.u64(f)
	if err == nil && n > 1<<63-1 {
		err = s.fault(s.pos-8, f, ErrCorrupt, "%#x, want a non-negative 64-bit number", n)
	}
	return int64(n), err
}

// run returns the next n bytes, for any n. They are valid until the next call. Memory grows piece by piece as bytes are read.
func (s *source) run(n int64, f field) ([]byte, error) {
	if n <= sourcePiece {
		return s.bytes(int(n), f)
	}
	if err := s.need(n, f); err != nil {
		return nil, err
	}
	var dst []byte
	for n > 0 {
		b, err := s.bytes(int(min(n, sourcePiece)), f)
		if err != nil {
			return nil, err
		}
		dst = append(dst, b...)
		n -= int64(len(b))
	}
	return dst, nil
}

// pad skips the bytes that pad n to a multiple of 4. It notes bytes that are not zero.
func (s *source) pad(n int64, f field) error {
	k := int(-n & 3)
	if k == 0 {
		return nil
	}
	at := s.pos
	b, err := s.bytes(k, f)
	if err != nil {
		return err
	}
	for _, c := range b {
		if c != 0 {
			s.o.note(at, f.String(), fmt.Sprintf("pad % x, want zeros", b))
			break
		}
	}
	return nil
}
