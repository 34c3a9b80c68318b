package versioned

import (
	"encoding/hex"
	"errors"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
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
