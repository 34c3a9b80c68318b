package versioned

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"blobio/comm"
	"blobio/internal/vfs"
)

// exposure is a window on files of committed versions, for processes that cannot read the store they are in.
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

// exposed says whether versions are read through windows: those in memory, and on request those in directories, where processes
// cannot reach the stores of all others.
func (a *Array) exposed(st *Store) bool {
	return a.remote && (a.memory || st != nil && st.Windows)
}

// expose opens files to all ranks: those of the record that pass which. owner tells the rank that reads a file. It is collective.
func (a *Array) expose(ctx context.Context, rec *record, which func(f *fileInfo) bool, owner func(f *fileInfo) int) error {
	if !a.windows {
		return nil
	}
	e := &exposure{files: map[string]extent{}}
	var local []byte
	var bad error
	end := map[int]int64{}
	for i := range rec.Files {
		f := &rec.Files[i]
		if !which(f) {
			continue
		}
		r := owner(f)
		if r < 0 {
			continue // it is lost
		}
		e.files[f.Name] = extent{r, end[r], f.Size}
		end[r] += f.Size
		if r == a.c.Rank() && bad == nil {
			var b []byte
			if b, bad = vfs.ReadFile(a.store.fs, filepath.Join(a.store.dir, f.Name), f.Size); bad == nil && int64(len(b)) != f.Size {
				bad = formatErr(f.Name, int64(len(b)), "file", ErrTruncated, "%d bytes, the record says %d", len(b), f.Size)
			}
			local = append(local, b...)
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil || len(e.files) == 0 {
		return err
	}
	var err error
	if e.win, err = a.c.NewWindow(ctx, local); err != nil {
		return err
	}
	if err := e.win.Fence(ctx); err != nil {
		return err
	}
	a.cat.wmu.Lock()
	a.cat.windows = append(a.cat.windows, e)
	a.cat.wmu.Unlock()
	return nil
}

// exposeVersion is expose of the files of a version that is being committed. The name of a file tells the rank that wrote it.
func (a *Array) exposeVersion(ctx context.Context, rec *record, number int64) error {
	return a.expose(ctx, rec, func(f *fileInfo) bool { return f.Gen == a.geo.ID && f.Born == number }, func(f *fileInfo) int {
		r := -1
		fmt.Sscanf(f.Name, fmt.Sprintf("g%d-v%d-r%%d", f.Gen, f.Born), &r)
		return r
	})
}

// exposeAll is expose of what was there when the array was opened; what a damaged file holds is told when it is read.
func (a *Array) exposeAll(ctx context.Context, rec *record) error {
	if !a.windows {
		return nil
	}
	ids, err := a.c.Allgather(ctx, fmt.Append(nil, a.nodeID, " ", btoi(a.keeper)))
	if err != nil {
		return err
	}
	keeper := make([]int, a.nodes)
	for r, b := range ids {
		var n, k int
		if _, err := fmt.Sscan(string(b), &n, &k); err == nil && k != 0 && n >= 0 && n < len(keeper) {
			keeper[n] = r
		}
	}
	var gone []string // which files are not as the record says, of all nodes
	if a.keeper {
		for i := range rec.Files {
			f := &rec.Files[i]
			info, err := a.store.fs.Stat(filepath.Join(a.store.dir, f.Name))
			if f.Node == a.nodeID && (err != nil || info.Size() != f.Size) {
				gone = append(gone, f.Name)
			}
		}
	}
	var b []byte
	for _, n := range gone {
		b = append(append(b, n...), 0)
	}
	all, err := a.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	gone = nil
	for _, b := range all {
		gone = append(gone, splitZero(b)...)
	}
	return a.expose(ctx, rec, func(f *fileInfo) bool { return f.Node < len(keeper) && !slices.Contains(gone, f.Name) }, func(f *fileInfo) int { return keeper[f.Node] })
}

// conceal ends windows of which the record names no file any more; all of them without a record. It is collective.
func (a *Array) conceal(ctx context.Context, rec *record) error {
	if !a.windows {
		return nil
	}
	var errs []error
	a.cat.wmu.Lock()
	var keep, end []*exposure
	for _, e := range a.cat.windows {
		if rec != nil && slices.ContainsFunc(rec.Files, func(f fileInfo) bool { _, ok := e.files[f.Name]; return ok }) {
			keep = append(keep, e)
		} else {
			end = append(end, e)
		}
	}
	a.cat.windows = keep
	a.cat.wmu.Unlock()
	for _, e := range end {
		e.mu.Lock()
		e.ended = true // whoever comes later does not touch the window
		e.mu.Unlock()
		errs = append(errs, e.win.Free(ctx))
	}
	return errors.Join(errs...)
}

// window is the file of another process, nil if there is none.
func (c *catalog) window(name string) *windowFile {
	c.wmu.RLock()
	defer c.wmu.RUnlock()
	for _, e := range c.windows {
		if x, ok := e.files[name]; ok {
			return &windowFile{name: name, e: e, at: x}
		}
	}
	return nil
}

// windowFile reads a file through a window.
type windowFile struct {
	vfs.File // nil: it can only be read
	name     string
	e        *exposure
	at       extent
}

func (f *windowFile) Name() string         { return f.name }
func (f *windowFile) Size() (int64, error) { return f.at.size, nil }
func (f *windowFile) Close() error         { return nil }

func (f *windowFile) ReadAt(b []byte, off int64) (int, error) {
	n := max(min(int64(len(b)), f.at.size-off), 0)
	f.e.mu.RLock()
	defer f.e.mu.RUnlock()
	if f.e.ended {
		return 0, pkg.Errorf("%s was dropped while it was read: %w", f.name, ErrNoVersion)
	}
	if err := f.e.win.Get(context.Background(), f.at.rank, f.at.off+off, b[:n]); err != nil {
		return 0, err
	}
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// windowFS opens that file, and can do nothing else.
type windowFS struct {
	vfs.FS
	f *windowFile
}

func (w windowFS) Open(string) (vfs.File, error) { return w.f, nil }
