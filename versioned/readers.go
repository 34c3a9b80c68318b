package versioned

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"

	"blobio/ffformat"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// reader reads the chunks of one data file.
type reader struct {
	*ffformat.Reader
	f    vfs.File
	used int64
	refs int
}

// nodeStore is the directory of an array, or the memory of a node that keeps it.
type nodeStore struct {
	fs  vfs.FS
	dir string
}

// path of a file.
func (st *nodeStore) path(name string) string { return filepath.Join(st.dir, name) }

// readers keeps files open for reading, under a cap.
type readers struct {
	mu   sync.Mutex
	max  int
	open map[readerKey]*reader
	tick int64
}

type readerKey struct {
	node int
	name string
}

func newReaders(max int) *readers { return &readers{max: max, open: map[readerKey]*reader{}} }

// get opens a file and compares its metadata with the record. put must be called.
func (r *readers) get(st *nodeStore, node int, info *fileInfo) (*reader, error) {
	key := readerKey{node, info.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	if x := r.open[key]; x != nil {
		x.refs++
		x.used = r.tick
		return x, nil
	}
	name := st.path(info.Name)
	f, err := st.fs.Open(name)
	if err != nil {
		return nil, err
	}
	x := &reader{f: f, used: r.tick, refs: 1}
	if err := x.load(name, info); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.open[key] = x
	r.trim(r.max)
	return x, nil
}

func (x *reader) load(name string, info *fileInfo) error {
	size, err := x.f.Size()
	if err != nil {
		return err
	}
	if size != info.Size {
		return fault.At(name, min(size, info.Size), "file", ErrTruncated, "%d bytes, the seal says %d", size, info.Size)
	}
	if x.Reader, err = ffformat.NewReader(x.f, size, name, &ffformat.DecodeOptions{Layout: ffformat.LayoutF}); err != nil {
		return err
	}
	sum, err := x.File().MetaSum()
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum[:]); got != info.Sum {
		return fault.At(name, x.File().FileBlockOffset(), "metadata", ErrChecksum, "%s, the seal says %s", got, info.Sum)
	}
	return nil
}

func (r *readers) put(x *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.refs--
	r.trim(r.max)
}

// trim closes idle files, those used longest ago first, until no more than n are open.
func (r *readers) trim(n int) {
	for len(r.open) > n {
		var old readerKey
		var at *reader
		for k, x := range r.open {
			if x.refs == 0 && (at == nil || x.used < at.used) {
				old, at = k, x
			}
		}
		if at == nil {
			return
		}
		at.f.Close() // it was only read
		delete(r.open, old)
	}
}

// forget closes a file that is about to be removed. It must not be in use.
func (r *readers) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, x := range r.open {
		if k.name == name && x.refs == 0 {
			x.f.Close()
			delete(r.open, k)
		}
	}
}

func (r *readers) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim(0)
}
