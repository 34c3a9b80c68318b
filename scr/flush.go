package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/transfer"
	"blobio/scr/internal/outcome"
)

// flusher writes cached datasets to the prefix directory, in the background or while the application waits. The steps are:
//
//	begin    index: dataset, incomplete; flush file; list of files to copy
//	copyOut  files, on each rank
//	publish  map, summary, index: complete; on rank 0
//	list     index: complete, summary; on rank 0, for files written with bypass, in place of the other steps
//
// In a background flush, ranks exchange no messages after begin. Package outcome brings their results to rank 0.
type flusher struct {
	*job
	*background
	index      *index
	flushFile  *flushFile
	cache      *cache
	redundancy *redundancy
	outcomes   *outcome.Exchange
	copier     *copier
}

// Flush writes a cached dataset to the prefix directory now, unless it is already there. Collective.
func (s *Session) Flush(ctx context.Context, name string) error {
	if err := s.need("Flush", between); err != nil {
		return err
	}
	d := s.cache.find(name)
	var err error
	if d == nil || !d.usable {
		err = fmt.Errorf("dataset %q is not in the cache: %w", name, ErrMissing)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	return s.flush.now(ctx, d)
}

// WaitFlush waits for the background flush of a dataset, or of all datasets if name is "". Collective. It also returns errors of
// flushes that have already ended.
func (s *Session) WaitFlush(ctx context.Context, name string) error {
	if err := s.need("WaitFlush", between); err != nil {
		return err
	}
	return s.flush.waitFor(ctx, name)
}

// due flushes a new dataset if a flush is due. Output is always flushed. Datasets written directly to the prefix directory are
// also always flushed, but only their metadata are missing. Checkpoints are flushed according to their number.
func (fl *flusher) due(ctx context.Context, d *cachedSet) error {
	if err := fl.reap(ctx); err != nil {
		return err
	}
	due := d.Bypass || d.Dataset.Output || (d.Dataset.Checkpoint && cadence.FlushDue(int64(d.Dataset.Ckpt), fl.p.flush))
	switch {
	case !due:
		return nil
	case d.Bypass:
		return fl.list(ctx, d)
	case fl.p.async:
		return fl.start(ctx, d)
	}
	return fl.now(ctx, d)
}

// list lists a dataset that install has just written. Only its index entry and its summary are missing. No other flush is
// running, because Start has waited for the others. Collective.
func (fl *flusher) list(ctx context.Context, d *cachedSet) error {
	if err := fl.step("flush"); err != nil {
		return err
	}
	began := fl.cfg.Clock()
	fl.event(runlog.Entry{Event: runlog.FlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	err := fl.onRoot(ctx, func() error {
		err := fl.enter(ctx, d.Dataset)
		if err != nil {
			err = errors.Join(err, fl.flushFile.setCached(d.Dataset))
		}
		return err
	})
	return fl.ended(d, err, began)
}

// enter writes the index entry and then the summary of a dataset whose map exists. The content of the summary, the key RENAMES, is
// needed until the dataset is listed. Rank 0 only.
func (fl *flusher) enter(ctx context.Context, ds record.Dataset) error {
	if err := fl.step("index"); err != nil {
		return err
	}
	publish := func(x *prefixdir.Index) error { return x.Publish(ds, fl.cfg.Clock()) }
	err := fl.index.dir.Index.Update(ctx, publish)
	if errors.Is(err, fault.ErrExist) { // an older dataset has the same name
		if err = fl.replace(ctx, ds); err == nil {
			err = fl.index.dir.Index.Update(ctx, publish)
		}
	}
	if err != nil {
		return err
	}
	if err := fl.step("summary"); err != nil {
		return err
	}
	if err := fl.index.dir.Datasets.WriteSummary(ds, true); err != nil {
		return err
	}
	if err := fl.flushFile.setBoth(ds); err != nil {
		return err
	}
	return fl.index.slide(ctx)
}

// now writes a dataset to the prefix directory while the application waits. It first rebuilds files that have changed since they
// were written.
func (fl *flusher) now(ctx context.Context, d *cachedSet) error {
	// Wait for all flushes, not only for this dataset's flush, because other datasets may write the same files.
	if err := fl.settleAll(ctx); err != nil {
		return err
	}
	in, err := fl.index.holds(ctx, d)
	if err != nil || in {
		return err
	}
	if err := fl.step("flush"); err != nil {
		return err
	}
	began := fl.cfg.Clock()
	fl.event(runlog.Entry{Event: runlog.FlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	return fl.ended(d, fl.run(ctx, d), began)
}

// replace deletes an older dataset with the name of a dataset whose map exists. Rank 0 only.
func (fl *flusher) replace(ctx context.Context, ds record.Dataset) error {
	m, err := fl.index.dir.Datasets.ReadMap(fl.index.dir.Datasets.Place(ds.ID))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, name := range m.Paths() {
		there[name] = true
	}
	return fl.index.replace(ctx, ds, there)
}

// ended records the end of a foreground flush.
func (fl *flusher) ended(d *cachedSet, err error, began time.Time) error {
	fl.logEnd(d.Dataset, d.Path, err == nil, false, began)
	if err != nil {
		fl.unfinished = true
		return fmt.Errorf("flush of %s: %w", d.Dataset.Name, err)
	}
	delete(fl.failed, d.Dataset.Name)
	return fl.step("flushed")
}

// run does a foreground flush. If a file is damaged, run rebuilds the dataset and copies it once more.
func (fl *flusher) run(ctx context.Context, d *cachedSet) error {
	there, err := fl.copier.bypassed(ctx, d)
	if err != nil {
		return err
	}
	jobs, err := fl.begin(ctx, d, prefixdir.SyncFlushing, there)
	if err != nil {
		return err
	}
	var files []prefixdir.File
	for again := false; ; again = true {
		err = fl.window(ctx, fl.p.flushWidth, func() (err error) {
			files, err = fl.copier.copyOut(ctx, d, jobs, false)
			return err
		})
		if err == nil || again || d.Bypass || fatal(ctx, err) {
			break
		}
		repair, aerr := fl.anyRank(ctx, damaged(err))
		if aerr != nil {
			return errors.Join(err, aerr)
		}
		if !repair {
			break
		}
		fl.warn("scr: a cached file is damaged; rebuilding it", "dataset", d.Dataset.Name, "err", err)
		if _, rerr := fl.redundancy.recoverFiles(ctx, d); rerr != nil {
			err = errors.Join(err, rerr)
			break
		}
	}
	var parts [][]byte
	if err == nil {
		parts, err = fl.copier.gatherFiles(ctx, files)
	}
	if err == nil && fl.c.Rank() == 0 {
		err = fl.publish(ctx, d.Dataset, parts)
	} else if fl.c.Rank() == 0 {
		err = errors.Join(err, fl.flushFile.setFlushed(d.ID, false))
	}
	return fl.agree(ctx, err)
}

// begin announces a flush and lists the files that this rank has to copy. Collective. If it fails, it removes the announcement
// from the flush file.
func (fl *flusher) begin(ctx context.Context, d *cachedSet, how prefixdir.Location, there map[string]bool) (jobs []transfer.Job, err error) {
	defer func() {
		if err != nil && !fatal(ctx, err) { // the error is only on rank 0, after the last message
			err = errors.Join(err, fl.flushFile.setFlushed(d.ID, false))
		}
	}()
	if err := fl.onRoot(ctx, func() error { return fl.announce(ctx, d, how, there) }); err != nil {
		return nil, err
	}
	if jobs, err = fl.copier.jobs(ctx, d); err != nil {
		return nil, err
	}
	if err := fl.agree(ctx, fl.copier.allowed(d, jobs)); err != nil {
		return nil, err
	}
	return jobs, fl.copier.sweep(ctx, jobs)
}

// announce adds the dataset to the index and the flush file, before the first byte is written. there lists the files of the
// dataset that already exist in the prefix directory. Rank 0 only.
func (fl *flusher) announce(ctx context.Context, d *cachedSet, how prefixdir.Location, there map[string]bool) error {
	if err := fl.index.dir.Datasets.Create(d.ID); err != nil {
		return err
	}
	if !d.Bypass {
		if old, err := fl.index.older(d.Dataset); err != nil || old {
			return errors.Join(err, fl.flushFile.setFlushing(d.ID, how)) // the older dataset keeps its entry until the new one is whole
		}
	}
	add := func(x *prefixdir.Index) error { return x.Add(d.Dataset, false) }
	err := fl.index.dir.Index.Update(ctx, add)
	if d.Bypass && errors.Is(err, fault.ErrExist) { // an older dataset has the same name
		if err = fl.index.replace(ctx, d.Dataset, there); err == nil {
			err = fl.index.dir.Index.Update(ctx, add)
		}
	}
	if err != nil {
		return err
	}
	return fl.flushFile.setFlushing(d.ID, how)
}

// publish writes the map, the summary and the index entry. From then on the dataset is in the prefix directory. If it replaces an
// older dataset, the older one is kept until the new files are whole. Rank 0 only.
func (fl *flusher) publish(ctx context.Context, ds record.Dataset, parts [][]byte) error {
	if err := fl.step("map"); err != nil {
		return err
	}
	names, err := filesIn(parts)
	if err != nil {
		return err
	}
	old, err := fl.index.older(ds)
	if err != nil {
		return err
	}
	hidden := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return !names[name] })
	if old || len(hidden) > 0 {
		if err := fl.index.install(ctx, ds, parts, slices.Sorted(maps.Keys(names)), hidden); err != nil {
			return err
		}
		if err := fl.flushFile.setFlushed(ds.ID, true); err != nil {
			return err
		}
		return fl.index.slide(ctx)
	}
	summary := func() error {
		if err := fl.step("summary"); err != nil {
			return err
		}
		return fl.index.dir.Datasets.WriteSummary(ds, true)
	}
	list := func() error {
		if err := fl.step("index"); err != nil {
			return err
		}
		return fl.index.dir.Index.Update(ctx, func(x *prefixdir.Index) error { return x.Publish(ds, fl.cfg.Clock()) })
	}
	order := []func() error{summary, list}
	if s, err := fl.index.dir.Datasets.ReadSummary(fl.index.dir.Datasets.Place(ds.ID)); err == nil && s.Renames {
		// List the dataset first. The map exists, and the content of the summary is needed until the dataset is listed.
		order[0], order[1] = list, summary
	} else if err := fl.index.writeMap(ds.ID, parts); err != nil {
		return err
	}
	for _, f := range order {
		if err := f(); err != nil {
			return err
		}
	}
	if err := fl.flushFile.setFlushed(ds.ID, true); err != nil {
		return err
	}
	return fl.index.slide(ctx)
}

func (fl *flusher) logEnd(ds record.Dataset, from string, ok, async bool, began time.Time) {
	ev, kind := runlog.FlushFail, runlog.FlushSync
	switch {
	case ok && async:
		ev = runlog.AsyncFlushSuccess
	case ok:
		ev = runlog.FlushSuccess
	case async:
		ev = runlog.AsyncFlushFail
	}
	if async {
		kind = runlog.FlushAsync
	}
	fl.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(ds.ID)), Name: ds.Name, Took: fl.took(began)})
	if ok {
		fl.xfer(kind, from, fl.p.prefix, ds, ds.Name, began)
	}
}

// damaged reports whether an error means that a cached file has changed since Complete.
func damaged(err error) bool {
	return errors.Is(err, ErrChecksum) || errors.Is(err, ErrCorrupt) || errors.Is(err, fault.ErrTruncated) || errors.Is(err, fs.ErrNotExist)
}

// rebuilt flushes the newest rebuilt checkpoint and all rebuilt output datasets.
func (fl *flusher) rebuilt(ctx context.Context) error {
	newest := fl.cache.newest()
	for _, d := range fl.cache.sets {
		if d.usable && (d == newest || d.Dataset.Output) {
			if err := fl.now(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}
