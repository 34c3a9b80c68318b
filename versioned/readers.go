package versioned

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"blobio/comm"
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

// nodeStore is the directory of an array, or the memory of a node that keeps the array.
type nodeStore struct {
	fs  vfs.FS
	dir string
}

// path returns the path of a file.
func (st *nodeStore) path(name string) string { return filepath.Join(st.dir, name) }

// readers keeps files open for reading, but only a limited number of them.
type readers struct {
	open *cache.Pool[readerKey, *reader]
}

func newReaders(max int) readers {
	return readers{cache.NewPool[readerKey](vfs.Descriptors, max, func(x *reader) error {
		x.f.Close() // the file was only read
		return nil
	})}
}

// get opens a file and compares its metadata with the record. The caller must call put with the reader afterwards.
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

// decodeData reads the metadata of a data file. sum is their MetaSum, in hex.
func decodeData(f vfs.File, size int64) (r *ffformat.Reader, sum string, err error) {
	if r, err = ffformat.NewReader(f, size, f.Name(), &ffformat.Options{Layout: ffformat.LayoutF}); err != nil {
		return nil, "", err
	}
	b, err := r.File().MetaSum()
	return r, hex.EncodeToString(b[:]), err
}

func (r readers) put(x *reader) { r.open.Put(x.key) }

// forget closes a file that is about to be removed. The file must not be in use.
func (r readers) forget(name string) {
	_ = r.open.Forget(func(k readerKey) bool { return k.name == name })
}

func (r readers) close() { _ = r.open.Close() }

// sources are the stores from which a process reads the files of versions.
type sources struct {
	stores  []*nodeStore // stores by node; nil: the store is in the memory of another process
	copies  int          // number of next nodes that have a copy of a file
	exposed exposures
	open    readers
}

// withFile calls f with a reader of the file, first on the file's node and then on the nodes with copies, until f succeeds.
func (s *sources) withFile(info *fileInfo, f func(x *reader) error) error {
	if info == nil {
		return fmt.Errorf("the file was removed while it was read, because its version was dropped: %w", ErrNoVersion)
	}
	var errs []error
	for k := range s.copies + 1 {
		node := (info.Node + k) % len(s.stores)
		if k > 0 && node == info.Node {
			break // all nodes have been tried
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

// reader returns a reader of a file on a node. The caller must call open.put.
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

// windows lets all ranks read versions in the memory of other processes. It is nil if there are no other processes or the store
// is a directory.
type windows struct {
	nodes *nodes
	open  *exposures // windows of the process
}

// exposeVersion makes windows by which all ranks can read the files of a version that is being committed. It is collective.
func (w *windows) exposeVersion(ctx context.Context, rec *record, gen int, number int64) error {
	if w == nil {
		return nil
	}
	e := &exposure{files: map[string]extent{}}
	var local []byte
	var bad error
	end := map[int]int64{}
	for i := range rec.Files {
		f := &rec.Files[i]
		if f.Gen != gen || f.Born != number {
			continue
		}
		r := writerOf(f)
		e.files[f.Name] = extent{r, end[r], f.Size}
		end[r] += f.Size
		if r == w.nodes.c.Rank() && bad == nil {
			var b []byte
			if b, bad = vfs.ReadFile(w.nodes.store.fs, w.nodes.file(f.Name), f.Size); bad == nil && int64(len(b)) != f.Size {
				bad = fault.At(f.Name, int64(len(b)), "file", fault.ErrTruncated, "%d bytes, the seal says %d", len(b), f.Size)
			}
			local = append(local, b...)
		}
	}
	if err := comm.Agree(ctx, w.nodes.c, bad); err != nil || len(e.files) == 0 {
		return err
	}
	var err error
	if e.win, err = w.nodes.c.NewWindow(ctx, local); err != nil {
		return err
	}
	if err := e.win.Fence(ctx); err != nil {
		return err
	}
	w.open.add(e)
	return nil
}

// conceal frees the windows whose files are not in the record. For a nil record it frees all windows. It is collective.
func (w *windows) conceal(ctx context.Context, rec *record) error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, e := range w.open.withdraw(rec) {
		errs = append(errs, e.free(ctx))
	}
	return errors.Join(errs...)
}

// writerOf returns the rank that wrote a file of a version.
func writerOf(f *fileInfo) (rank int) {
	fmt.Sscanf(f.Name, fmt.Sprintf("g%d-v%d-r%%d", f.Gen, f.Born), &rank) // dataName makes names of this form
	return rank
}

// exposure is a window on files of a version in the memory of other processes.
type exposure struct {
	win   comm.Window
	files map[string]extent

	mu    sync.RWMutex // held for reading while win is used
	ended bool
}

// extent is the position of a file in a window.
type extent struct {
	rank int
	off  int64
	size int64
}

// exposures are the windows of the ranks of one process.
type exposures struct {
	mu   sync.RWMutex // not the catalog's mutex, which the catalog holds while it reads files
	list []*exposure
}

func (x *exposures) add(e *exposure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, e)
}

// find returns a file in the memory of another process, or nil if no window has it.
func (x *exposures) find(name string) vfs.File {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, e := range x.list {
		if where, ok := e.files[name]; ok {
			return vfs.ReaderFile(name, where.size, &windowReader{name, e, where})
		}
	}
	return nil
}

// withdraw removes and returns the exposures whose files are not in the record. For a nil record it removes all exposures.
func (x *exposures) withdraw(rec *record) (end []*exposure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var keep []*exposure
	for _, e := range x.list {
		if rec != nil && slices.ContainsFunc(rec.Files, func(f fileInfo) bool { _, ok := e.files[f.Name]; return ok }) {
			keep = append(keep, e)
		} else {
			end = append(end, e)
		}
	}
	x.list = keep
	return end
}

// free ends a window. It is collective.
func (e *exposure) free(ctx context.Context) error {
	e.mu.Lock()
	e.ended = true // readers that come later do not use the window
	e.mu.Unlock()
	return e.win.Free(ctx)
}

// windowReader reads a file through a window.
type windowReader struct {
	name  string
	e     *exposure
	where extent
}

func (f *windowReader) ReadAt(b []byte, off int64) (int, error) {
	n := max(min(int64(len(b)), f.where.size-off), 0)
	f.e.mu.RLock()
	defer f.e.mu.RUnlock()
	if f.e.ended {
		return 0, fmt.Errorf("%s was dropped while it was read: %w", f.name, ErrNoVersion)
	}
	if err := f.e.win.Get(context.Background(), f.where.rank, f.where.off+off, b[:n]); err != nil {
		return 0, err
	}
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}
