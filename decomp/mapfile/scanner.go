package mapfile

import (
	"blobio/internal/base/fault"
	"errors"
	"io"
)

// A scanner splits text into words and lines and knows its offset. Returned words are valid until the next call.
type scanner struct {
	r       io.Reader
	name    string
	buf     []byte
	at      int64 // offset of buf[0] in the file
	p       int   // next byte
	eof     bool
	tokenAt int64 // offset of the last word
}

const (
	scanBuffer = 1 << 16
	// maxWord is far above the length of any word in a valid file.
	maxWord = 256
)

func (s *scanner) pos() int64 { return s.at + int64(s.p) }

func (s *scanner) errAt(off int64, field string, class error, format string, args ...any) error {
	return fault.At(s.name, off, field, class, format, args...)
}

// fill reads more bytes after the unread bytes. It returns false at the end of the file.
func (s *scanner) fill() (bool, error) {
	if s.eof {
		return false, nil
	}
	if s.buf == nil {
		s.buf = make([]byte, 0, scanBuffer)
	}
	n := copy(s.buf[:cap(s.buf)], s.buf[s.p:])
	s.at += int64(s.p)
	s.p = 0
	s.buf = s.buf[:n]
	k, err := io.ReadAtLeast(s.r, s.buf[n:cap(s.buf)], 1)
	s.buf = s.buf[:n+k]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.eof, err = true, nil
	}
	if err != nil {
		return false, s.errAt(s.pos(), "", err, "reading")
	}
	return k > 0, nil
}

// skip skips an optional mark at the start of a file.
func (s *scanner) skip(mark string) error {
	for len(s.buf)-s.p < len(mark) {
		if more, err := s.fill(); !more || err != nil {
			return err
		}
	}
	if string(s.buf[s.p:s.p+len(mark)]) == mark {
		s.p += len(mark)
	}
	return nil
}

// blank skips spaces and, if lines is set, line ends. It returns false at the end of the file.
func (s *scanner) blank(lines bool) (bool, error) {
	for {
		for s.p < len(s.buf) {
			c := s.buf[s.p]
			if c != ' ' && c != '\t' && c != '\r' && (c != '\n' || !lines) {
				return true, nil
			}
			s.p++
		}
		more, err := s.fill()
		if !more || err != nil {
			return false, err
		}
	}
}

// word returns the next word of the line or, if lines is set, of a later line. The word is empty if no word
// follows.
func (s *scanner) word(lines bool) ([]byte, error) {
	more, err := s.blank(lines)
	s.tokenAt = s.pos()
	if !more || err != nil {
		return nil, err
	}
	n := 0
	for {
		for s.p+n < len(s.buf) && s.buf[s.p+n] > ' ' {
			n++
		}
		if s.p+n < len(s.buf) {
			break
		}
		if n > maxWord {
			break
		}
		if more, err := s.fill(); err != nil {
			return nil, err
		} else if !more {
			break
		}
	}
	if n > maxWord {
		return nil, s.errAt(s.tokenAt, "", fault.ErrCorrupt, "%s... is longer than any word in the format", quote("", s.buf[s.p:s.p+16]))
	}
	if n == 0 && s.buf[s.p] != '\n' { // a control character is its own word
		n = 1
	}
	w := s.buf[s.p : s.p+n]
	s.p += n
	return w, nil
}

// number reads a number in this line.
func (s *scanner) number(field string) (int64, error) {
	w, err := s.word(false)
	if err != nil {
		return 0, err
	}
	return s.toInt(w, field)
}

func (s *scanner) toInt(w []byte, field string) (int64, error) {
	n, ok := parseInt(w)
	if !ok {
		if len(w) == 0 {
			class := fault.ErrCorrupt
			if s.eof && s.p == len(s.buf) {
				class = fault.ErrTruncated
			}
			return 0, s.errAt(s.tokenAt, field, class, "the line ends, want a number")
		}
		return 0, s.errAt(s.tokenAt, field, fault.ErrCorrupt, "%s, want a number", quote("", w))
	}
	return n, nil
}

// offset reads a number like number, but is faster for long lists. If first is set, the number may be on a later
// line.
func (s *scanner) offset(first bool) (int64, error) {
	if s.p+24 <= len(s.buf) && !first {
		// the common case: a space and digits, all in the buffer
		b := s.buf[s.p:]
		i := 0
		for i < 4 && b[i] == ' ' {
			i++
		}
		n, start := int64(0), i
		for i < 22 && b[i]-'0' <= 9 {
			n = n*10 + int64(b[i]-'0')
			i++
		}
		if d := i - start; d > 0 && d <= 18 && b[i] <= ' ' {
			s.tokenAt = s.pos() + int64(start)
			s.p += i
			return n, nil
		}
	}
	w, err := s.word(first)
	if err != nil {
		return 0, err
	}
	return s.toInt(w, "offset")
}

// labelled reads a word, which must be label, and the number after it.
func (s *scanner) labelled(label string) (n, at int64, err error) {
	w, err := s.word(label == "version")
	if err != nil {
		return 0, 0, err
	}
	if len(w) == 0 && s.eof && s.p == len(s.buf) {
		return 0, 0, s.errAt(s.tokenAt, label, fault.ErrTruncated, "the file ends, want the word %q", label)
	}
	if string(w) != label {
		return 0, 0, s.errAt(s.tokenAt, label, fault.ErrCorrupt, "%s, want the word %q", quote("", w), label)
	}
	n, err = s.number(label)
	return n, s.tokenAt, err
}

// endOfLine returns an error unless the line or the file ends.
func (s *scanner) endOfLine(field string) error {
	more, err := s.blank(false)
	if err != nil || !more {
		return err
	}
	if s.buf[s.p] != '\n' {
		w, err := s.word(false)
		if err != nil {
			return err
		}
		return s.errAt(s.tokenAt, field, fault.ErrCorrupt, "%s, want the end of the line", quote("", w))
	}
	s.p++
	return nil
}

// parseInt parses a decimal number. It returns false if the number does not fit.
func parseInt(w []byte) (int64, bool) {
	neg := false
	if len(w) > 1 && w[0] == '-' {
		neg, w = true, w[1:]
	}
	if len(w) == 0 || len(w) > 19 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range w {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > 1<<63-1 {
		return 0, false
	}
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}
