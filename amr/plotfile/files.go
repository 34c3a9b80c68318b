package plotfile

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"blobio/internal/vfs"
)

// maxOpen is how many data files are kept open.
const maxOpen = 64

// files are those of a plotfile, opened when they are needed. It is safe for concurrent use.
type files struct {
	fsys vfs.FS
	dir  string

	mu   sync.Mutex
	open map[string]*handle
}

type handle struct {
	vfs.File
	size  int64
	users int
}

// get opens a file, or finds it open. put gives it back.
func (s *files) get(name string) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.open[name]; h != nil {
		h.users++
		return h, nil
	}
	for k, h := range s.open {
		if len(s.open) >= maxOpen && h.users == 0 {
			h.Close()
			delete(s.open, k)
		}
	}
	f, err := s.fsys.Open(s.path(name))
	if err != nil {
		return nil, s.fault(name, err)
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return nil, s.fault(name, err)
	}
	h := &handle{File: f, size: size, users: 1}
	s.open[name] = h
	return h, nil
}

func (s *files) put(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
}

// path is a name of the plotfile as the file system has it.
func (s *files) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// fault says what is wrong with a file that cannot be opened or read.
func (s *files) fault(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return pkg.At(name, -1, "", ErrMissing, "not there, want a file")
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return pkg.At(name, -1, "", err, "cannot be read: %v", err)
}

// read reads bytes of a file.
func (s *files) read(name string, off, n int64, field string) ([]byte, error) {
	h, err := s.get(name)
	if err != nil {
		return nil, err
	}
	defer s.put(h)
	if off > h.size || n > h.size-off {
		return nil, pkg.At(name, off, field, ErrTruncated, "%d bytes to the end of the file, want %d", max(h.size-off, 0), n)
	}
	b := make([]byte, n)
	if got, err := h.ReadAt(b, off); err != nil && (err != io.EOF || int64(got) < n) {
		return nil, s.fault(name, err)
	}
	return b, nil
}

// text reads the whole of a text file.
func (s *files) text(name string) ([]byte, error) {
	h, err := s.get(name)
	if err != nil {
		return nil, err
	}
	defer s.put(h)
	if h.size > maxText {
		return nil, pkg.At(name, -1, "", ErrTooLarge, "%d bytes of text, want at most %d", h.size, maxText)
	}
	return s.read(name, 0, h.size, "")
}

func (s *files) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, h := range s.open {
		h.Close()
		delete(s.open, k)
	}
}
