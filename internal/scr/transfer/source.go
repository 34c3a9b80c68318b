package transfer

import (
	"errors"
	"io"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// ranges reads segments of files in order. It keeps at most one file open.
type ranges struct {
	fs   vfs.FS
	rest []Segment
	f    vfs.File
	at   int64 // offset in f
	left int64 // number of bytes left in the current segment
	err  error // error that ended reading
}

// Read implements io.Reader. The error is ErrTruncated if a file ends before its segment.
func (r *ranges) Read(p []byte) (int, error) {
	n, err := r.read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func (r *ranges) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.left == 0 {
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
		s := r.rest[0]
		r.rest = r.rest[1:]
		if s.Length == 0 {
			continue
		}
		if r.f == nil || r.f.Name() != s.File {
			if err := r.Close(); err != nil {
				return 0, err
			}
			f, err := r.fs.Open(s.File)
			if err != nil {
				return 0, err
			}
			r.f = f
		}
		r.at, r.left = s.Offset, s.Length
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.f.ReadAt(p, r.at)
	r.at += int64(n)
	r.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if n < len(p) {
			err = fault.At(r.f.Name(), r.at, "", fault.ErrTruncated, "the file ends, want %d more bytes", r.left)
		}
	}
	return n, err
}

// Close closes the open file.
func (r *ranges) Close() error {
	if r.f == nil {
		return nil
	}
	f := r.f
	r.f = nil
	return f.Close()
}

type source struct {
	io.Reader
	in    ranges
	size  int64 // size of the data
	whole bool  // the source is one file, not segments
}

// open opens the source of a job and checks its size.
func (e *Engine) open(fsys vfs.FS, j *Job) (*source, error) {
	s := &source{in: ranges{fs: fsys, rest: j.In}}
	s.Reader = &s.in
	if j.In == nil {
		f, err := fsys.Open(j.Src)
		if err != nil {
			return nil, err
		}
		if s.size, err = f.Size(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		s.in.f, s.in.left, s.whole = f, s.size, true
	} else {
		s.size, _ = sum(j.In)
	}
	want := j.Size
	if j.Out != nil {
		want, _ = sum(j.Out)
	}
	if want >= 0 && s.size != want {
		class := fault.ErrTruncated
		if s.size > want {
			class = fault.ErrCorrupt
		}
		return nil, errors.Join(fault.In(j.sourceName(), "", class, "%d bytes, want %d", s.size, want), s.Close())
	}
	return s, nil
}

// stable returns an error if a whole file was read as source and has grown, because another process writes
// to it.
func (s *source) stable() error {
	if s.in.f == nil {
		return nil
	}
	if n, err := s.in.f.Size(); err != nil || n <= s.in.at {
		return err
	} else if s.whole {
		return fault.In(s.in.f.Name(), "", fault.ErrCorrupt, "grew from %d to %d bytes while it was read", s.in.at, n)
	}
	return nil
}

// Close closes the files of the source.
func (s *source) Close() error {
	return s.in.Close()
}

// sourceName returns the name of the source for errors.
func (j *Job) sourceName() string {
	if len(j.In) > 0 {
		return j.In[0].File
	}
	return j.Src
}
