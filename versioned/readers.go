package versioned

import (
	"blobio/ffformat"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
)

// reader reads the chunks of one data file.
type reader struct {
	*ffformat.Reader
	f   vfs.File
	key readerKey
}

type readerKey struct {
	node int
	name string
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
	open *cache.Pool[readerKey, *reader]
}

func newReaders(max int) readers {
	return readers{cache.NewPool[readerKey](vfs.Descriptors, max, func(x *reader) error {
		x.f.Close() // it was only read
		return nil
	})}
}

// get opens a file and compares its metadata with the record. put must be called.
func (r readers) get(node int, info *fileInfo, open func() (vfs.File, error)) (*reader, error) {
	key := readerKey{node, info.Name}
	return r.open.Get(key, func() (*reader, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		x := &reader{f: f, key: key}
		if err := x.load(info); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return x, nil
	})
}

func (x *reader) load(info *fileInfo) error {
	name := x.f.Name()
	size, err := x.f.Size()
	if err != nil {
		return err
	}
	if size != info.Size {
		return fault.At(name, min(size, info.Size), "file", fault.ErrTruncated, "%d bytes, the seal says %d", size, info.Size)
	}
	r, sum, err := decodeData(x.f, size)
	if err == nil && sum != info.Sum {
		err = fault.At(name, r.File().FileBlockOffset(), "metadata", ErrChecksum, "%s, the seal says %s", sum, info.Sum)
	}
	x.Reader = r
	return err
}

// decodeData reads the metadata of a data file, and their sum.
func decodeData(f vfs.File, size int64) (r *ffformat.Reader, sum string, err error) {
	if r, err = ffformat.NewReader(f, size, f.Name(), &ffformat.Options{Layout: ffformat.LayoutF}); err != nil {
		return nil, "", err
	}
	b, err := r.File().MetaSum()
	return r, hex.EncodeToString(b[:]), err
}

func (r readers) put(x *reader) { r.open.Put(x.key) }

// forget closes a file that is about to be removed. It must not be in use.
func (r readers) forget(name string) {
	_ = r.open.Forget(func(k readerKey) bool { return k.name == name })
}

func (r readers) close() { _ = r.open.Close() }

// sources are where one process reads the files of versions.
type sources struct {
	stores  []*nodeStore // by node; nil: in the memory of another process
	copies  int          // on so many next nodes
	exposed exposures
	open    readers
}

// withFile calls f with a reader of the file, from its node or from a copy, until one succeeds. An
// error of f that is no damage of the file ends it.
func (s *sources) withFile(info *fileInfo, f func(x *reader) error) error {
	if info == nil {
		return fmt.Errorf("it was dropped while it was read: %w", ErrNoVersion)
	}
	var errs []error
	for k := range s.copies + 1 {
		node := (info.Node + k) % len(s.stores)
		if k > 0 && node == info.Node {
			break // all nodes were tried
		}
		x, err := s.reader(node, info)
		if err == nil {
			err = f(x)
			s.open.put(x)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reader returns a reader of a file that a node has; open.put must be called.
func (s *sources) reader(node int, info *fileInfo) (*reader, error) {
	return s.open.get(node, info, func() (vfs.File, error) {
		if st := s.stores[node]; st != nil {
			return st.fs.Open(st.path(info.Name))
		}
		if f := s.exposed.find(info.Name); f != nil {
			return f, nil
		}
		return nil, fmt.Errorf("%s of node %d is gone: %w", info.Name, node, ErrMissing)
	})
}
