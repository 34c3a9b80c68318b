package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"blobio/internal/view/tree"
)

// maxRanges is the maximum number of ranges in one request.
const maxRanges = 64

const netcdfType = "application/x-netcdf"

// files answers a path with a dataset as one netCDF file, with an unchanged ordinary netCDF file, or with the list of a
// directory.
func (s *Server) files(a *answer, r *http.Request, path string) error {
	if path == "" || strings.HasSuffix(path, "/") {
		return s.list(a, r, strings.TrimSuffix(path, "/"))
	}
	d, err := s.dataset(r.Context(), path)
	if err != nil {
		return s.orList(a, path, err)
	}
	defer d.Release()
	if err := tidyRange(r); err != nil {
		return err
	}
	give, err := s.memory.take(r.Context(), readAhead+2*piece)
	if err != nil {
		return err
	}
	defer give()
	h := a.Header()
	h.Set("Content-Type", netcdfType)
	h.Set("ETag", etag(d.ID()))
	var file contextReaderAt = d.Canonical()
	size := d.Canonical().Size()
	plain, n, err := d.Plain()
	if err != nil {
		return err
	}
	if plain != nil {
		defer plain.Close()
		file, size = plainFile{plain}, n
	}
	f := &virtual{ctx: r.Context(), s: s, file: file, size: size}
	http.ServeContent(a, r, "", d.ModTime(), f)
	return f.close()
}

// orList redirects to the list if the path is a directory. err says why the path is not a dataset.
func (s *Server) orList(a *answer, path string, err error) error {
	if e, lerr := s.tree.Lookup(path); lerr != nil || e.Kind != tree.KindDir {
		return err
	}
	a.Header().Set("Location", link("files", path)+"/")
	a.WriteHeader(http.StatusMovedPermanently)
	return nil
}

// plainFile is an ordinary netCDF file, sent unchanged.
type plainFile struct{ io.ReaderAt }

// ReadAtContext ignores ctx.
func (f plainFile) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	return f.ReadAt(p, off)
}

// tidyRange removes request headers that net/http must not follow. A range in units other than bytes is ignored. If-Range
// with a date is removed, because two states may have been written in the same second.
func tidyRange(r *http.Request) error {
	asked, only := r.Header.Get("Range"), r.Header.Get("If-Range")
	if !strings.HasPrefix(asked, "bytes=") || only != "" && !strings.HasPrefix(only, `"`) {
		r.Header.Del("Range")
		return nil
	}
	if strings.Count(asked, ",") >= maxRanges {
		return &statusError{http.StatusRequestedRangeNotSatisfiable, "too many ranges: request fewer at once"}
	}
	return nil
}

func etag(id string) string { return `"` + url.PathEscape(id) + `"` }

// readAhead is the number of bytes of a file read at once.
const readAhead = 512 << 10

// contextReaderAt has the method of blob.CanonicalFile that virtual uses.
type contextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// virtual is a file computed on reading, for one goroutine at a time. It reads in large pieces, each with a slot.
type virtual struct {
	ctx   context.Context
	s     *Server
	file  contextReaderAt
	whole func(ctx context.Context) ([]byte, error) // used instead of file: returns the whole content; called once
	size  int64
	pos   int64
	buf   []byte // data read at from
	from  int64
	err   error // error that ended the file; net/http does not report it

	mu sync.Mutex // net/http reads in its own goroutine, which may continue for a moment
}

// close waits for a read in progress and returns the error that ended the file. The file can no longer be read.
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
		return 0, errors.New("seek before the start of the file")
	}
	f.pos = off
	return off, nil
}

// Read implements io.Reader. At the end of the file it returns io.EOF. After an error it always returns that error.
func (f *virtual) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.next(len(p))
	return copy(p, b), err
}

// next returns at most want bytes at pos and advances. The bytes are valid until the next call.
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

// sendTo writes n bytes from pos without copying them.
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

// load reads at pos. A read after a jump has the requested size. Sequential reads become larger.
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
