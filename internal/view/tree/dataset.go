package tree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// ErrTooMany is in the chain of Dataset's error if Options.MaxOpen datasets are held, even after Options.Wait.
var ErrTooMany = errors.New("too many datasets are open")

// A Dataset is one state of a dataset, held for reading. It is safe for concurrent use. The caller must call Release.
type Dataset struct {
	t       *Tree
	s       *shared
	release sync.Once
}

// Reader returns the reader, which is shared. The caller must not close it.
func (d *Dataset) Reader() *blob.Reader { return d.s.r }

// Bytes are the bytes of a netCDF file, safe for concurrent use.
type Bytes interface {
	io.ReaderAt
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
	Size() int64
	Header() *cdf5.Header // with the offset of each variable; must not be changed
}

// Canonical returns the bytes of the netCDF file.
func (d *Dataset) Canonical() Bytes { return d.s.c }

// Form describes the source of a netCDF form; "" for a blob dataset or an ordinary netCDF file.
func (d *Dataset) Form() string {
	if d.s.form == nil {
		return ""
	}
	return d.s.form.name
}

// Plain opens the file itself if it is an ordinary netCDF file, and returns its size; nil for a blob dataset. A replaced file is
// fs.ErrNotExist.
func (d *Dataset) Plain() (f vfs.File, size int64, err error) {
	identity, ok := strings.CutPrefix(d.s.key, plainKey)
	if !ok {
		return nil, 0, nil
	}
	if f, err = d.t.root.Open(d.s.name); err != nil {
		return nil, 0, hide("open", d.s.name, err)
	}
	info, err := f.(interface{ Stat() (fs.FileInfo, error) }).Stat()
	if err == nil && vfs.Identity(info) != identity {
		err = gone("open", d.s.name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// plainKey begins the key of an ordinary file's state.
const plainKey = "p|"

// ID returns Entry.ID.
func (d *Dataset) ID() string { return d.s.fact.id }

// Line returns Entry.Line.
func (d *Dataset) Line() string { return d.s.fact.line }

// Growing returns Entry.Growing.
func (d *Dataset) Growing() bool { return d.s.fact.growing }

// ModTime returns the time of the commit.
func (d *Dataset) ModTime() time.Time { return d.s.mod }

// Release releases the dataset. The tree may close the Reader then. A second call does nothing.
func (d *Dataset) Release() { d.release.Do(func() { d.t.release(d.s) }) }

// Dataset opens the dataset of a path, or an ordinary netCDF file. All holders of the same state share one Reader.
func (t *Tree) Dataset(ctx context.Context, path string) (*Dataset, error) {
	name, err := t.real("open", path)
	if err != nil {
		return nil, err
	}
	s, err := t.acquire(ctx, name, t.opt.MaxOpen, func() (state, error) {
		_, e, st, err := t.look("open", path)
		if e.Kind == KindDir {
			err = fault.Usage("%s: found a directory, want a dataset", path)
		}
		return st, err
	})
	if err != nil {
		return nil, hideOpen(path, err)
	}
	return &Dataset{t: t, s: s}, nil
}

func hideOpen(path string, err error) error {
	if errors.Is(err, blob.ErrNotCommitted) {
		return gone("open", path)
	}
	return hide("open", path, err)
}

// maxTries is the maximum number of attempts to open a dataset that is constantly replaced.
const maxTries = 100

// acquire returns the reader of a dataset in its present state and counts a use, unless the limit of held readers is reached.
func (t *Tree) acquire(ctx context.Context, name string, most int, look func() (state, error)) (*shared, error) {
	var late <-chan time.Time
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := look()
		if err != nil {
			return nil, err
		}
		if !st.is {
			return nil, gone("open", name)
		}
		s, mine, err := t.claim(name, st, most)
		if errors.Is(err, ErrTooMany) && t.opt.Wait > 0 {
			if late == nil {
				timer := time.NewTimer(t.opt.Wait)
				defer timer.Stop()
				late = timer.C
			}
			select {
			case <-t.freed(most):
				try--
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-late:
			}
		}
		if err != nil {
			return nil, err
		}
		if !mine {
			select {
			case <-s.ready:
			case <-ctx.Done():
				t.release(s)
				return nil, ctx.Err()
			}
			if s.err == nil && !t.back(s.fact) {
				return s, nil
			}
			if s.err == nil {
				t.forget(s)
				continue
			}
			t.release(s)
			if errors.Is(s.err, errChanged) && try < maxTries {
				continue
			}
			return nil, s.err
		}
		s.err = t.load(context.WithoutCancel(ctx), s) // other callers wait for the result
		if now, err := look(); try < maxTries && (err != nil || now.key != st.key) {
			s.err = errChanged
		}
		if s.err == nil {
			t.facts.facts.keep(name, s.fact)
		}
		close(s.ready)
		if s.err == nil {
			return s, nil
		}
		t.forget(s)
		if !errors.Is(s.err, errChanged) {
			return nil, s.err
		}
	}
}

// back reports whether a file exists again that was missing when the dataset was opened with Options.AllowMissing.
func (t *Tree) back(f fact) bool {
	return t.opt.AllowMissing && slices.ContainsFunc(f.missing, func(name string) bool {
		_, err := t.root.Stat(name)
		return err == nil
	})
}

// errChanged means that a dataset was replaced while it was opened.
var errChanged = errors.New("the dataset was replaced during the open")

func (t *Tree) load(ctx context.Context, s *shared) error {
	if s.form != nil {
		return t.loadForm(ctx, s)
	}
	r, err := t.open(ctx, s, t.fs)
	if err != nil {
		return err
	}
	c, err := r.Canonical(&blob.CanonicalOptions{Version: t.opt.Version, ZeroFill: t.opt.ZeroFill, Memory: max(s.memory/2, 1<<20), Pool: t.pool})
	if err != nil {
		return errors.Join(err, r.Close())
	}
	s.fact = fact{key: s.key, id: hash("v"+string('0'+byte(t.opt.Version)), s.key), size: c.Size(), records: r.Records()}
	if m := r.Manifest(); m != nil {
		b, err := m.Encode()
		if err != nil {
			return errors.Join(err, r.Close())
		}
		s.fact.missing = r.Missing()
		s.fact.id = hash(append([]string{"v" + string('0'+byte(t.opt.Version)), string(b)}, s.fact.missing...)...)
		if err := s.fact.lineOf(ctx, m, c); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	if s.fact.line == "" {
		s.fact.line = s.fact.id
	}
	s.r, s.c = r, c
	return nil
}

// lineOf identifies the line of states to which a state belongs. A writer's commits only add data. Its Close, or recovery after
// its death, keeps its tag. The netCDF file of each state begins with the bytes of the previous state, except for the number of
// records in the header. A header that differs otherwise begins a new line.
func (f *fact) lineOf(ctx context.Context, m *subfile.Manifest, c Bytes) error {
	session := m.Log
	if session == "" {
		session = m.Session
	}
	if session == "" {
		return nil
	}
	head := make([]byte, c.Header().EncodedLen())
	if _, err := c.ReadAtContext(ctx, head, 0); err != nil {
		return err
	}
	const numrecs, end = 4, 12 // CDF-1 and -2: up to 8, followed by the tag of the dimension list
	f.line, f.growing = hash("line", m.ID, session, string(head[:numrecs]), string(head[end:])), m.Log != ""
	return nil
}
