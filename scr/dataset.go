package scr

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// Start begins a dataset (SCR_Start_output). Collective. From then on Route returns the paths to which the application must write
// the files of the dataset. If the store is full, Start deletes its oldest datasets. name should be unique in the prefix
// directory; "" means a default name. If the prefix directory already has a dataset with this name, the flush replaces it. Other
// datasets that have files with the same names become incomplete when the new files get their names. If such a dataset is output,
// the error is ErrExist.
func (s *Session) Start(ctx context.Context, name string, flags Flags) error {
	if err := s.need("Start", between); err != nil {
		return err
	}
	s.event(runlog.Entry{Event: runlog.ComputeEnd, Took: s.took(s.computed)})
	if err := s.step("start"); err != nil {
		return err
	}
	ds, l, err := s.writer.plan(ctx, name, flags)
	if err != nil {
		return err
	}
	s.offer, s.below = nil, 0 // makeRoom may delete the offered dataset
	if l.Bypass {             // the new files may overwrite files of background flushes; wait for these flushes first
		if err := s.flush.settleAll(ctx); err != nil {
			return err
		}
		if err := s.writer.finish(ctx); err != nil {
			return err
		}
	}
	w, err := s.writer.begin(ctx, ds, l, l.Bypass)
	if err != nil {
		return err
	}
	s.cache.ids.count(ds)
	s.cur, s.state, s.begun = w, inDataset, true
	ev := runlog.OutputStart
	if ds.Checkpoint {
		ev = runlog.CheckpointStart
		s.pacer.Start(s.cfg.Clock())
	}
	s.event(runlog.Entry{Event: ev, Note: l.Store, Dset: runlog.Num(int64(ds.ID)), Name: ds.Name})
	return nil
}

// Complete ends a dataset (SCR_Complete_output). Collective. valid reports whether the files of this rank are good. A rank may
// have no files. If all files are good, Complete protects them by redundancy, and flushes them if a flush is due. Otherwise it
// deletes the dataset and returns ErrInvalid on all ranks. After any other error Complete deletes the dataset too, but if only
// the flush failed, the dataset stays in the caches. With bypass, Complete gives the files their final names. If some renames
// fail, the dataset is in the prefix directory, and the next Start or Open finishes the renames.
func (s *Session) Complete(ctx context.Context, valid bool) error {
	if err := s.need("Complete", inDataset); err != nil {
		return err
	}
	defer s.flush.launch()
	err := s.complete(ctx, valid)
	s.computed = s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.ComputeStart})
	return err
}

// complete does the work of Complete. It ends with an exchange of errors.
func (s *Session) complete(ctx context.Context, valid bool) error {
	w := s.cur
	if err := s.step("complete"); err != nil {
		return err
	}
	s.state, s.cur = between, nil
	err := s.writer.seal(ctx, w, valid)
	if w.ds.Checkpoint {
		s.pacer.Done(s.cfg.Clock())
	}
	if err != nil {
		if fatal(ctx, err) {
			return err
		}
		return errors.Join(err, s.writer.discard(ctx, w))
	}
	w.usable = true
	s.writer.logEnd(w)
	if !w.Bypass { // otherwise list does it
		err = s.flushFile.setCached(w.Dataset)
	}
	if err == nil && s.c.Rank() == 0 && w.ds.Checkpoint {
		err = s.halts.countdown(ctx)
	}
	if err = s.agree(ctx, err); err != nil {
		return err
	}
	if err := s.flush.due(ctx, w.cachedSet); err != nil {
		return err
	}
	if w.Bypass {
		s.job.unfinished = false // due has written the dataset to the prefix directory
	}
	return nil
}

// Current sets the checkpoint from which the run continues. The application calls it if it found and read a checkpoint itself, or
// if it wants a checkpoint other than the newest. Current deletes newer checkpoints from the caches. Collective. Call it before
// HaveRestart.
func (s *Session) Current(ctx context.Context, name string) error {
	if err := s.need("Current", between); err != nil {
		return err
	}
	s.offer, s.below = nil, 0
	id := 0
	if d := s.cache.find(name); d != nil {
		id = d.ID
	}
	err := s.onRoot(ctx, func() error {
		return s.index.dir.Index.Update(ctx, func(x *prefixdir.Index) error {
			e, ok := x.Entry(name)
			if !ok {
				if id != 0 {
					return nil
				}
				return fmt.Errorf("dataset %q: %w", name, ErrMissing)
			}
			if taken, err := s.index.dir.Overwritten(x).Of(e); err != nil {
				return err
			} else if taken != nil {
				return fmt.Errorf("dataset %q is %v: %w", name, taken, ErrMissing)
			}
			if gone, err := s.index.dir.Presence().Of(e); err != nil {
				return err
			} else if gone != nil && id == 0 { // if id is not 0, the caches have the dataset
				return fmt.Errorf("dataset %q: %w: %w", name, ErrMissing, gone)
			}
			id = e.ID
			if !e.Failed.IsZero() {
				if err := x.ClearFailed(name); err != nil {
					return err
				}
			}
			return x.SetCurrent(name)
		})
	})
	if err != nil {
		return err
	}
	b, err := s.c.Bcast(ctx, 0, []byte(strconv.Itoa(id)))
	if err != nil {
		return err
	}
	if id, err = strconv.Atoi(string(b)); err != nil {
		return err
	}
	return s.cache.outdated(ctx, id)
}

// Drop removes a dataset from the index. Collective. Its files are kept in the prefix directory and in the caches.
func (s *Session) Drop(ctx context.Context, name string) error {
	if err := s.need("Drop", between); err != nil {
		return err
	}
	s.offer = nil
	if d := s.cache.find(name); d != nil { // wait for its flush, because the end of the flush would list the dataset again
		if err := s.flush.settle(ctx, d); err != nil {
			return err
		}
	}
	if err := s.writer.finish(ctx); err != nil { // otherwise the next Start would list the dataset again
		return err
	}
	return s.onRoot(ctx, func() error { return s.index.dir.Drop(ctx, name) })
}

// Delete deletes a dataset from the caches and the prefix directory, including folders that become empty. Collective.
func (s *Session) Delete(ctx context.Context, name string) error {
	if err := s.need("Delete", between); err != nil {
		return err
	}
	s.offer = nil
	// Wait for all flushes, because a dataset that is being flushed may share file names and is not in the index yet.
	if err := s.flush.settleAll(ctx); err != nil {
		return err
	}
	if err := s.writer.finish(ctx); err != nil { // otherwise the next Start would list the dataset
		return err
	}
	d := s.cache.find(name)
	if d != nil {
		if err := s.cache.drop(ctx, d); err != nil {
			return err
		}
	}
	return s.onRoot(ctx, func() error {
		x, _, _, err := s.index.dir.Index.Load()
		if err != nil {
			return err
		}
		if _, ok := x.Entry(name); ok {
			return s.index.dir.Delete(ctx, name)
		} else if d == nil {
			return fmt.Errorf("dataset %q: %w", name, ErrMissing)
		}
		return nil
	})
}
