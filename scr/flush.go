package scr

import (
	"context"
	"errors"
	"io/fs"

	"blobio/internal/fault"
	"blobio/redset"
	"blobio/scr/cachedir"
	"blobio/scr/cadence"
	"blobio/scr/prefixdir"
	"blobio/scr/runlog"
)

// flushDue flushes a new dataset if it is time: output always, what was written there at once too (only what is known
// of it is missing), checkpoints by their number.
func (s *Session) flushDue(ctx context.Context, d *cachedSet) error {
	if err := s.async.reap(ctx); err != nil {
		return err
	}
	due := d.Bypass || d.Dataset.Output || (d.Dataset.Checkpoint && cadence.FlushDue(int64(d.Dataset.Ckpt), s.p.flush))
	switch {
	case !due:
		return nil
	case s.p.async && !d.Bypass:
		return s.async.start(ctx, d)
	}
	return s.flushSync(ctx, d)
}

// Flush writes a cached dataset to the prefix directory now, if it is not there; a collective.
func (s *Session) Flush(ctx context.Context, name string) error {
	if err := s.need("Flush", Idle); err != nil {
		return err
	}
	d := s.find(name)
	var err error
	if d == nil || !d.usable {
		err = pkg.Errorf("dataset %q is not in the cache: %w", name, ErrMissing)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	return s.flushSync(ctx, d)
}

// CancelFlush ends the background flush of a dataset, a collective; ok says whether there was one. What was copied stays:
// Flush goes on from there.
func (s *Session) CancelFlush(ctx context.Context, name string) (ok bool, err error) {
	if err := s.need("CancelFlush", Idle); err != nil {
		return false, err
	}
	return s.async.cancelFlight(ctx, name)
}

// WaitFlush waits for the background flush of a dataset, or of all (name ""), a collective, and returns what went wrong,
// also if the flush ended before.
func (s *Session) WaitFlush(ctx context.Context, name string) error {
	if err := s.need("WaitFlush", Idle); err != nil {
		return err
	}
	earlier := s.async.failures(name)
	if name == "" {
		return errors.Join(earlier, s.async.wait(ctx, 0))
	}
	for _, f := range s.async.flights {
		if f.d.Dataset.Name == name {
			return s.async.wait(ctx, f.d.ID)
		}
	}
	return earlier
}

// flushCached flushes the newest checkpoint that was rebuilt, and all rebuilt output.
func (s *Session) flushCached(ctx context.Context) error {
	newest := s.newest()
	for _, d := range s.cached {
		if d.usable && (d == newest || d.Dataset.Output) {
			if err := s.flushSync(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// flushed says whether a dataset is in the prefix directory; the same on all ranks.
func (s *Session) flushed(ctx context.Context, d *cachedSet) (bool, error) {
	var in bool
	var err error
	if s.c.Rank() == 0 {
		var x *prefixdir.Index
		if x, _, _, err = s.prefix.LoadIndex(); err == nil {
			e, ok := x.Entry(d.Dataset.Name)
			in = ok && e.ID == d.ID && e.Complete && e.Failed.IsZero()
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return false, err
	}
	return s.flag(ctx, in)
}

// flushSync writes a dataset to the prefix directory while the application waits. A file that is not any more what was
// written is rebuilt from the redundancy first.
func (s *Session) flushSync(ctx context.Context, d *cachedSet) error {
	// Those of others too: they may have the same files in the prefix directory.
	if err := s.async.settleAll(ctx); err != nil {
		return err
	}
	in, err := s.flushed(ctx, d)
	if err != nil || in {
		return err
	}
	if err := s.step("flush"); err != nil {
		return err
	}
	began := s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.FlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	err = s.flushFiles(ctx, d)
	s.logFlush(d.Dataset, d.Path, err == nil, false, began)
	if err != nil {
		return pkg.Errorf("flush of %s: %w", d.Dataset.Name, err)
	}
	delete(s.async.failed, d.Dataset.Name)
	return s.step("flushed")
}

func (s *Session) flushFiles(ctx context.Context, d *cachedSet) error {
	there, err := s.bypassed(ctx, d)
	if err != nil {
		return err
	}
	jobs, err := s.beginFlush(ctx, d, prefixdir.SyncFlushing, there)
	if err != nil {
		return err
	}
	var files []prefixdir.File
	for again := false; ; again = true {
		err = s.window(ctx, s.p.flushWidth, func() (err error) {
			files, err = s.copyOut(ctx, d, jobs, false)
			return err
		})
		if err == nil || again || d.Bypass || fatal(ctx, err) {
			break
		}
		repair, aerr := s.any(ctx, damaged(err))
		if aerr != nil {
			return errors.Join(err, aerr)
		}
		if !repair {
			break
		}
		s.warn("scr: a cached file is damaged; rebuilding it", "dataset", d.Dataset.Name, "err", err)
		if _, rerr := redset.Recover(ctx, s.c, s.fs, groupPrefix(d.Path, cachedir.DataGroup), nil); rerr != nil {
			err = errors.Join(err, rerr)
			break
		}
	}
	var parts [][]byte
	if err == nil {
		parts, err = s.gatherFiles(ctx, files)
	}
	if err == nil && s.c.Rank() == 0 {
		err = s.finishFlush(ctx, d.Dataset, parts)
	} else if s.c.Rank() == 0 {
		err = errors.Join(err, s.flushFile(ctx, func(f *flushEdit) error { return f.moved(d.ID, false) }))
	}
	return s.agree(ctx, err)
}

// damaged says that a cached file is not what it was at Complete.
func damaged(err error) bool {
	return errors.Is(err, ErrChecksum) || errors.Is(err, ErrCorrupt) || errors.Is(err, fault.ErrTruncated) || errors.Is(err, fs.ErrNotExist)
}
