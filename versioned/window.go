package versioned

import (
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
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
