package scr

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// Start begins a dataset, a collective (SCR_Start_output): from now on Route returns where its files are to be written.
// The oldest datasets of the store make room. name is unique in the prefix directory, "" for a default; a dataset of
// the same name there is replaced when this one is flushed. Other datasets of the prefix directory that have files of the
// same names are not complete any more once this one's get their names; if they are output, it is an error (ErrExist).
func (s *Session) Start(ctx context.Context, name string, flags Flags) error {
	if err := s.need("Start", between); err != nil {
		return err
	}
	var err error
	if flags == 0 || flags&^(Checkpoint|Output) != 0 {
		err = fault.Usage("flags %d", flags)
	}
	if err = s.agree(ctx, err); err != nil {
		return err
	}
	s.offer, s.below = nil, 0 // making room may delete the dataset that was offered
	s.event(runlog.Entry{Event: runlog.ComputeEnd, Took: s.took(s.computed)})
	if err := s.step("start"); err != nil {
		return err
	}
	ds, l, err := s.writer.plan(ctx, name, flags)
	if err != nil {
		return err
	}
	if l.Bypass { // the new files may overwrite files of background flushes, which must be done first
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

// Complete ends a dataset, a collective (SCR_Complete_output): valid reports whether the files of this rank are good. If
// all are, they are protected by redundancy, and flushed when it is time. If not, the dataset is deleted and the error
// is ErrInvalid on all ranks. A rank may have no files. After an error the dataset is gone, unless it is the error of
// a flush: then it stays in the caches. With bypass files get their names here; if that fails in part, the next Start or Open
// goes on with it, and the dataset is in the prefix directory then.
func (s *Session) Complete(ctx context.Context, valid bool) error {
	if err := s.need("Complete", inDataset); err != nil {
		return err
	}
	defer s.flush.launch()
	d, err := s.complete(ctx, valid)
	s.computed = s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.ComputeStart})
	if err != nil || d == nil {
		return err
	}
	return s.c.Barrier(ctx)
}

func (s *Session) complete(ctx context.Context, valid bool) (*cachedSet, error) {
	w := s.cur
	if err := s.step("complete"); err != nil {
		return nil, err
	}
	s.state, s.cur = between, nil
	err := s.writer.seal(ctx, w, valid)
	if w.ds.Checkpoint {
		s.pacer.Done(s.cfg.Clock())
	}
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, s.writer.discard(ctx, w))
	}
	w.usable = true
	s.writer.logEnd(w)
	err = s.flushFile.setCached(w.Dataset)
	if err == nil && s.c.Rank() == 0 && w.ds.Checkpoint {
		err = s.halts.countdown(ctx)
	}
	if err = s.agree(ctx, err); err != nil {
		return w.cachedSet, err
	}
	if err := s.flush.due(ctx, w.cachedSet); err != nil {
		return w.cachedSet, err
	}
	if w.Bypass {
		s.job.unfinished = false // it was due
	}
	return w.cachedSet, nil
}

// Current sets the checkpoint that the run starts from when the application found and read it itself, or wants another
// one than the newest; a collective, before HaveRestart. Newer checkpoints of the caches are deleted.
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
			} else if gone != nil && id == 0 { // else the caches serve
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

// Drop takes a dataset out of the index; a collective. Its files stay, in the prefix directory and in the caches.
func (s *Session) Drop(ctx context.Context, name string) error {
	if err := s.need("Drop", between); err != nil {
		return err
	}
	s.offer = nil
	if d := s.cache.find(name); d != nil { // a flush that ends later would list it again
		if err := s.flush.settle(ctx, d); err != nil {
			return err
		}
	}
	return s.onRoot(ctx, func() error { return s.index.dir.Drop(ctx, name) })
}

// Delete deletes a dataset from the caches and from the prefix directory, with the folders that are empty then; a
// collective.
func (s *Session) Delete(ctx context.Context, name string) error {
	if err := s.need("Delete", between); err != nil {
		return err
	}
	s.offer = nil
	// A dataset that is being flushed may have files of the same names, and is not in the index yet.
	if err := s.flush.settleAll(ctx); err != nil {
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
