package h5

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	pageSize = 1 << 15
	maxPages = 256 // 8 MiB of metadata at most
)

// source reads metadata through a small cache of pages. Pages are never
// written after they were loaded, so views of them may be handed out.
// It is safe for concurrent use.
type source struct {
	r    io.ReaderAt
	size int64

	mu    sync.Mutex
	pages map[int64][]byte
	ring  []int64 // pages in order of loading; the oldest goes first
	next  int
}

// view returns n bytes at off, which must lie inside the file. The result is
// read-only.
func (s *source) view(off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n > pageSize {
		b := make([]byte, n)
		return b, s.readFull(b, off)
	}
	first, last := off/pageSize, (off+n-1)/pageSize
	p, err := s.page(first)
	if err != nil {
		return nil, err
	}
	at := off - first*pageSize
	if first == last {
		return p[at : at+n : at+n], nil
	}
	b := make([]byte, 0, n)
	b = append(b, p[at:]...)
	p, err = s.page(last)
	if err != nil {
		return nil, err
	}
	return append(b, p[:n-int64(len(b))]...), nil
}

func (s *source) page(i int64) ([]byte, error) {
	s.mu.Lock()
	p, ok := s.pages[i]
	s.mu.Unlock()
	if ok {
		return p, nil
	}
	off := i * pageSize
	p = make([]byte, min(pageSize, s.size-off))
	if err := s.readFull(p, off); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.pages[i]; ok {
		return p, nil
	}
	if s.pages == nil {
		s.pages = make(map[int64][]byte)
	}
	if len(s.ring) < maxPages {
		s.ring = append(s.ring, i)
	} else {
		delete(s.pages, s.ring[s.next])
		s.ring[s.next] = i
		s.next = (s.next + 1) % maxPages
	}
	s.pages[i] = p
	return p, nil
}

// readFull fills b from off. A reader that ends early has ErrTruncated.
func (s *source) readFull(b []byte, off int64) error {
	n, err := s.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %d of %d bytes: %w", n, len(b), fault.ErrTruncated)
	}
	return err
}

// inFile reports whether [off, off+n) lies inside the file.
func (s *source) inFile(off, n int64) bool {
	return off >= 0 && n >= 0 && off <= s.size && n <= s.size-off
}
