package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/internal/vfs"
)

// windows let all ranks read the files of others that they cannot reach. nil: there are none.
type windows struct {
	nodes *nodes
	open  *exposures // of the process
}

// newWindows says whether versions are read through windows: those in memory, and on request those in directories, where processes
// cannot reach the stores of all others.
func newWindows(n *nodes, st *Store, open *exposures) *windows {
	if n.remote && (n.memory || st != nil && st.Windows) {
		return &windows{n, open}
	}
	return nil
}

// expose opens files to all ranks: those of the record that pass which. owner tells the rank that reads a file. It is collective.
func (w *windows) expose(ctx context.Context, rec *record, which func(f *fileInfo) bool, owner func(f *fileInfo) int) error {
	if w == nil {
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
		if r == w.nodes.c.Rank() && bad == nil {
			var b []byte
			if b, bad = vfs.ReadFile(w.nodes.store.fs, w.nodes.file(f.Name), f.Size); bad == nil && int64(len(b)) != f.Size {
				bad = pkg.At(f.Name, int64(len(b)), "file", ErrTruncated, "%d bytes, the seal says %d", len(b), f.Size)
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

// exposeVersion is expose of the files of a version that is being committed.
func (w *windows) exposeVersion(ctx context.Context, rec *record, gen int, number int64) error {
	return w.expose(ctx, rec, func(f *fileInfo) bool { return f.Gen == gen && f.Born == number }, writerOf)
}

// exposeAll is expose of what was there when the array was opened; what a damaged file holds is told when it is read.
func (w *windows) exposeAll(ctx context.Context, rec *record) error {
	if w == nil {
		return nil
	}
	ids, err := w.nodes.c.Allgather(ctx, fmt.Append(nil, w.nodes.own, " ", btoi(w.nodes.keeper)))
	if err != nil {
		return err
	}
	keeper := make([]int, w.nodes.count)
	for r, b := range ids {
		var n, k int
		if _, err := fmt.Sscan(string(b), &n, &k); err == nil && k != 0 && n >= 0 && n < len(keeper) {
			keeper[n] = r
		}
	}
	var gone []string // which files are not as the record says, of all nodes
	if w.nodes.keeper {
		for i := range rec.Files {
			f := &rec.Files[i]
			info, err := w.nodes.store.fs.Stat(w.nodes.file(f.Name))
			if f.Node == w.nodes.own && (err != nil || info.Size() != f.Size) {
				gone = append(gone, f.Name)
			}
		}
	}
	var b []byte
	for _, n := range gone {
		b = append(append(b, n...), 0)
	}
	all, err := w.nodes.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	gone = nil
	for _, b := range all {
		gone = append(gone, splitZero(b)...)
	}
	return w.expose(ctx, rec, func(f *fileInfo) bool { return f.Node < len(keeper) && !slices.Contains(gone, f.Name) }, func(f *fileInfo) int { return keeper[f.Node] })
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

// writerOf is the rank whose file of a version that is, -1 for other names.
func writerOf(f *fileInfo) int {
	r := -1
	fmt.Sscanf(f.Name, fmt.Sprintf("g%d-v%d-r%%d", f.Gen, f.Born), &r)
	return r
}
