package versioned

import (
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// windows let all ranks read what other processes hold in memory. nil: there is no such process, or the store is a directory.
type windows struct {
	nodes *nodes
	open  *exposures // of the process
}

// exposeVersion opens the files of a version that is being committed to all ranks. It is collective.
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

// conceal ends windows of which the record names no file any more; all of them without a record. It is collective.
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

// writerOf is the rank whose file of a version that is.
func writerOf(f *fileInfo) (rank int) {
	fmt.Sscanf(f.Name, fmt.Sprintf("g%d-v%d-r%%d", f.Gen, f.Born), &rank) // the name is that of dataName
	return rank
}

// exposure is a window on the files of a version that are in the memory of other processes.
type exposure struct {
	win   comm.Window
	files map[string]extent

	mu    sync.RWMutex // held by those that read through win
	ended bool
}

// extent is where a file is in the window.
type extent struct {
	rank int
	off  int64
	size int64
}

// exposures are those of the ranks of one process.
type exposures struct {
	mu   sync.RWMutex // not that of the catalog, which reads files while it holds its own
	list []*exposure
}

func (x *exposures) add(e *exposure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, e)
}

// find returns the file of another process, nil if there is none.
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

// withdraw removes those of which the record names no file any more, all of them without a record, and returns them.
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
	e.ended = true // whoever comes later does not touch the window
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
