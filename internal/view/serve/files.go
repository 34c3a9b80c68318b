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

// maxRanges is how many ranges one request may ask for.
const maxRanges = 64

// netcdfType is the media type of a netCDF file.
const netcdfType = "application/x-netcdf"

// files answers with a dataset as one netCDF file, with an ordinary one as it is, or with the list of a directory.
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

// orList sends who asks for a dataset by the path of a directory to its list. err is why there is no dataset.
func (s *Server) orList(a *answer, path string, err error) error {
	if e, lerr := s.tree.Lookup(path); lerr != nil || e.Kind != tree.KindDir {
		return err
	}
	a.Header().Set("Location", link("files", path)+"/")
	a.WriteHeader(http.StatusMovedPermanently)
	return nil
}

// plainFile is an ordinary netCDF file, which is sent as it is.
type plainFile struct{ io.ReaderAt }

// ReadAtContext reads what is there, whatever becomes of ctx.
func (f plainFile) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	return f.ReadAt(p, off)
}

// tidyRange takes what net/http would follow, and must not, out of the headers of a request: a range in another unit than bytes, which counts as none;
// and one under the condition that a date is still right (If-Range), since two states may be of the same second.
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

// etag is an ID as the header has it.
func etag(id string) string { return `"` + url.PathEscape(id) + `"` }

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
		return 0, errors.New("seek before the start of the file")
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
