package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
)

// readAhead is how much of a file is read at once, in bytes.
const readAhead = 512 << 10

// contextReaderAt is what of a blob.CanonicalFile is used.
type contextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// virtual is a file that is computed when it is read, for one goroutine at a time. It reads in large pieces, each with a slot.
type virtual struct {
	ctx   context.Context
	s     *Server
	file  contextReaderAt
	whole func(ctx context.Context) ([]byte, error) // instead of file: all of it, called once
	size  int64
	pos   int64
	buf   []byte // what was read at from
	from  int64
	err   error // that ended it: net/http does not tell

	mu sync.Mutex // net/http reads in a goroutine of its own, which may go on for a moment
}

// close returns the error that ended the file, and waits for a read that is under way. The file cannot be read any more.
func (f *virtual) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	f.err = fs.ErrClosed
	return err
}

// Seek implements io.Seeker.
func (f *virtual) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += f.pos
	case io.SeekEnd:
		off += f.size
	}
	if off < 0 {
		return 0, errors.New("seek in front of the file")
	}
	f.pos = off
	return off, nil
}

// Read implements io.Reader. At the end of the file it returns io.EOF, and after an error always that.
func (f *virtual) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.next(len(p))
	return copy(p, b), err
}

// next returns what lies at pos, at most want bytes of it, and steps over it. The bytes are good until the next call.
func (f *virtual) next(want int) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.pos >= f.size {
		return nil, io.EOF
	}
	if f.pos < f.from || f.pos >= f.from+int64(len(f.buf)) {
		if f.err = f.load(want); f.err != nil {
			return nil, f.err
		}
	}
	b := f.buf[f.pos-f.from:]
	b = b[:min(len(b), want)]
	f.pos += int64(len(b))
	return b, nil
}

// sendTo writes n bytes from pos on, without copying them.
func (f *virtual) sendTo(w io.Writer, n int64) (sent int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for sent < n {
		b, err := f.next(int(min(n-sent, readAhead)))
		if err != nil {
			return sent, err
		}
		k, err := w.Write(b)
		sent += int64(k)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// load reads what lies at pos: as much as is asked for if that is the first read there, more if the file is read in sequence.
func (f *virtual) load(want int) error {
	if f.whole != nil {
		return f.loadWhole()
	}
	n := int64(want)
	if f.from+int64(len(f.buf)) == f.pos && len(f.buf) > 0 {
		n = min(int64(len(f.buf))*4, readAhead)
	}
	n = min(max(n, int64(want)), readAhead, f.size-f.pos)
	if int64(cap(f.buf)) < n {
		f.buf = make([]byte, n)
	}
	f.buf, f.from = f.buf[:n], f.pos
	give, err := f.s.work.take(f.ctx, 1)
	if err != nil {
		f.buf = f.buf[:0]
		return err
	}
	defer give()
	k, err := f.file.ReadAtContext(f.ctx, f.buf, f.pos)
	if int64(k) == n {
		return nil
	}
	f.buf = f.buf[:0]
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// loadWhole reads a file that is computed at once.
func (f *virtual) loadWhole() error {
	give, err := f.s.work.take(f.ctx, 1)
	if err != nil {
		return err
	}
	defer give()
	b, err := f.whole(f.ctx)
	switch {
	case err != nil:
		return err
	case int64(len(b)) != f.size:
		return io.ErrUnexpectedEOF
	}
	f.buf = b
	return nil
}
