package ffstore

import (
	"context"
	"errors"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// Stats is what one checkpoint did, summed over all ranks.
type Stats struct {
	ffformat.Stats
	SideData int64 // bytes written to the side files of the nodes
}

// Checkpoint writes all protected variables of all ranks as checkpoint id, which must be
// higher than that of the newest one; after Recover and RecoverID, higher than the
// recovered one, and newer ones then make way. When it returns nil it is committed, on
// all ranks; after an error nothing has changed for a reader.
func (s *Store) Checkpoint(ctx context.Context, id int32) (Stats, error) {
	return s.whole(ctx, id, false)
}

// CheckpointDiff is Checkpoint, but of what the slot holds already nothing is written
// again. Where that is not known (the first time, or after a lost side file), it is full.
func (s *Store) CheckpointDiff(ctx context.Context, id int32) (Stats, error) {
	return s.whole(ctx, id, true)
}

func (s *Store) whole(ctx context.Context, id int32, diff bool) (Stats, error) {
	inc, err := s.prepare(ctx, id, diff)
	if err != nil {
		return Stats{}, err
	}
	vars := make([]ffformat.VarBuf, len(s.order))
	for i, v := range s.order {
		vars[i] = ffformat.VarBuf{ID: v, Data: s.data[v]}
	}
	return inc.commit(ctx, s.within(ctx, func() error { // all at once: no more files are open than there are places
		if err := inc.open(); err != nil {
			return err
		}
		if err := inc.u.AddAll(ctx, vars); err != nil {
			return err
		}
		return inc.finish(ctx)
	}))
}

// Incremental is a checkpoint whose variables are added one by one, as they become
// ready.
type Incremental struct {
	s    *Store
	id   int32
	diff bool
	slot int
	time int64
	side int64 // bytes written to the side file
	f    *handle
	u    *ffformat.Update
	res  *ffformat.Result
	size int64 // of the file, when it was opened and then when it is finished; in layout B it can end before the last containers do
	done bool
}

// handle is a file that can be closed and opened again between two uses.
type handle struct {
	vfs.File
	name string
	open bool
}

func (h *handle) close() error {
	if !h.open {
		return nil
	}
	h.open = false
	return h.File.Close()
}

// Begin starts an incremental checkpoint. Add is not collective; Commit and Abort
// are, and one of them must end it.
func (s *Store) Begin(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc, err := s.prepare(ctx, id, diff)
	if err != nil {
		return nil, err
	}
	err = s.within(ctx, func() error {
		if err := inc.open(); err != nil {
			return err
		}
		return inc.park()
	})
	if err := comm.Agree(ctx, s.c, err); err != nil {
		inc.giveUp()
		return nil, err
	}
	s.busy = true
	return inc, nil
}

// Add writes a protected variable, whose memory is read until it returns. Each
// must be added once, in any order. After an I/O error Commit will fail on all ranks.
func (inc *Incremental) Add(ctx context.Context, id int32) error {
	data, ok := inc.s.data[id]
	switch {
	case inc.done:
		return usageErr("Add of %d after the end of checkpoint %d", id, inc.id)
	case !ok:
		return usageErr("variable %d is not protected", id)
	}
	return inc.s.within(ctx, func() error {
		if err := inc.unpark(); err != nil {
			return err
		}
		return errors.Join(inc.u.Add(ctx, id, data), inc.park())
	})
}

// park closes the file until the next use, if too many would be open.
func (inc *Incremental) park() error {
	if inc.s.local <= inc.s.o.MaxOpen || !inc.f.open {
		return nil
	}
	// A write that fails later is told to those who had the file open then.
	var err error
	if inc.s.o.Durability != DurableNone {
		err = inc.f.Sync()
	}
	if err = errors.Join(err, inc.f.close()); err != nil {
		inc.u.Abort() // Commit must not take it for whole
	}
	return err
}

// unpark opens the file again.
func (inc *Incremental) unpark() (err error) {
	if inc.f.open {
		return nil
	}
	if inc.f.File, err = inc.s.o.FS.OpenRW(inc.f.name); err == nil {
		inc.f.open = true
	}
	return err
}

// finish writes the metadata and makes the file durable.
func (inc *Incremental) finish(ctx context.Context) (err error) {
	if inc.res, err = inc.u.Finish(ctx); err != nil {
		return err
	}
	if inc.s.o.Durability != DurableNone {
		if err := inc.f.Sync(); err != nil {
			return err
		}
	}
	if inc.size, err = inc.f.Size(); err != nil {
		return err
	}
	return inc.f.close()
}

// Commit ends the checkpoint. All protected variables must have been added on all ranks;
// else it fails on all, and nothing has changed for a reader.
func (inc *Incremental) Commit(ctx context.Context) (Stats, error) {
	if inc.done {
		return Stats{}, usageErr("Commit after the end of checkpoint %d", inc.id)
	}
	return inc.commit(ctx, inc.s.within(ctx, func() error {
		if err := inc.unpark(); err != nil {
			return err
		}
		return inc.finish(ctx)
	}))
}

// Abort gives the checkpoint up.
func (inc *Incremental) Abort(ctx context.Context) error {
	if inc.done {
		return nil
	}
	inc.giveUp()
	return comm.Agree(ctx, inc.s.c, nil)
}

// giveUp leaves the Writer as it was before.
func (inc *Incremental) giveUp() {
	inc.done, inc.s.busy = true, false
	if inc.u != nil {
		inc.u.Abort()
	}
	if inc.res != nil {
		inc.s.w.Undo()
	}
	if inc.f != nil {
		inc.f.close() //nolint:errcheck // the file does not count
	}
}
