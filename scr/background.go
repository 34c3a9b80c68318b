package scr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/transfer"
)

// background holds the background flushes of a rank. They run one after the other. A goroutine copies the files of the rank. On
// rank 0 the goroutine also waits for the other ranks and finishes the flush. It does not need calls of the application.
type background struct {
	*job
	ctx     context.Context
	cancel  context.CancelFunc
	flights []*flight        // flights of this rank, oldest first; all ranks have flights of the same datasets
	last    *flight          // the last flight; the next flight begins after it has ended
	failed  map[string]error // by dataset name, the errors of ended flights for which no caller has waited
}

func newBackground(ctx context.Context, j *job) *background {
	b := &background{job: j, failed: map[string]error{}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b
}

// flight returns the flight of a dataset, or nil if there is none.
func (b *background) flight(id int) *flight {
	for _, f := range b.flights {
		if f.d.ID == id {
			return f
		}
	}
	return nil
}

// busy reports whether a dataset is being flushed. It is collective only if a flush was started.
func (b *background) busy(ctx context.Context, id int) (bool, error) {
	f := b.flight(id)
	if f == nil {
		return false, nil
	}
	return b.anyRank(ctx, !f.task.Over())
}

// wait waits until a dataset is flushed, or all datasets if id is 0. All ranks get the errors.
func (b *background) wait(ctx context.Context, id int) error {
	b.launch()
	var errs []error
	for _, f := range slices.Clone(b.flights) {
		if id != 0 && f.d.ID != id {
			continue
		}
		if err := f.task.Wait(ctx); err != nil {
			return b.agree(ctx, err) // the other ranks wait for this rank
		}
		if err := b.agree(ctx, f.task.Err()); err != nil {
			b.unfinished = true
			errs = append(errs, fmt.Errorf("flush of %s: %w", f.d.Dataset.Name, err))
		}
		b.remove(f)
	}
	return errors.Join(errs...)
}

// waitFor waits until a dataset is flushed, or all datasets if name is "". It returns the errors, including errors of earlier
// flushes. Collective.
func (b *background) waitFor(ctx context.Context, name string) error {
	earlier := b.failures(name)
	if name == "" {
		return errors.Join(earlier, b.wait(ctx, 0))
	}
	for _, f := range b.flights {
		if f.d.Dataset.Name == name {
			return b.wait(ctx, f.d.ID)
		}
	}
	return earlier
}

// remove forgets a flight.
func (b *background) remove(f *flight) {
	for i, e := range b.flights {
		if e == f {
			b.flights = append(b.flights[:i:i], b.flights[i+1:]...)
			return
		}
	}
}

// reap settles flushes that have ended, and logs their errors. The errors do not concern the current dataset: the next dataset is
// flushed anyway, and Close flushes the newest checkpoint again.
func (b *background) reap(ctx context.Context) error {
	for _, f := range slices.Clone(b.flights) {
		busy, err := b.busy(ctx, f.d.ID)
		if err != nil {
			return err
		}
		if busy {
			continue
		}
		if err := b.settle(ctx, f.d); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the flush of a dataset, before another operation on the dataset. If the flush failed, settle logs the error
// and keeps it for WaitFlush. It returns only errors after which the ranks cannot continue.
func (b *background) settle(ctx context.Context, d *cachedSet) error {
	err := b.wait(ctx, d.ID)
	if err == nil {
		return nil
	}
	if fatal(ctx, err) {
		return err
	}
	b.failed[d.Dataset.Name] = err
	b.warn("scr: a background flush failed", "dataset", d.Dataset.Name, "err", err)
	return nil
}

func (b *background) settleAll(ctx context.Context) error {
	for _, f := range slices.Clone(b.flights) {
		if err := b.settle(ctx, f.d); err != nil {
			return err
		}
	}
	return nil
}

// abandon stops the flush of a dataset that is given up. Collective.
func (b *background) abandon(ctx context.Context, d *cachedSet) error {
	f := b.flight(d.ID)
	if f == nil {
		return nil
	}
	f.task.Stop()
	err := b.wait(ctx, d.ID)
	if err != nil && !fatal(ctx, err) {
		err = nil
	}
	return err
}

// failures returns the errors of flights for which no caller has waited, of one dataset, or of all datasets if name is "". Each
// error is returned once.
func (b *background) failures(name string) error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(b.failed)) {
		if name == "" || n == name {
			errs = append(errs, b.failed[n])
			delete(b.failed, n)
		}
	}
	return errors.Join(errs...)
}

// stop cancels the running flights and waits until they end.
func (b *background) stop() {
	b.cancel()
	b.launch()
	for _, f := range b.flights {
		<-f.task.Done()
	}
	b.flights = nil
}

// flight is a background flush of one dataset. Its task ends when this rank has copied its files. On rank 0 it ends when the
// whole flush is done.
type flight struct {
	d     *cachedSet
	began time.Time
	files map[string]bool // files that this rank writes
	task  *par.Task
}

// ended waits until a flight has ended on this rank. f may be nil. The next flight may begin only then, for two reasons: the
// limits apply to all background copies together, and if datasets share file names, the files of the last dataset must remain.
func (f *flight) ended(ctx context.Context) error {
	if f == nil {
		return nil
	}
	return f.task.Wait(ctx)
}

// add adds a flight of a dataset; launch starts it. The flight calls fly with the context of the copies, the previous flight, and
// the numbers of unfinished datasets that have files with the same names.
func (b *background) add(d *cachedSet, jobs []transfer.Job, fly func(ctx context.Context, f, before *flight, same []int) error) {
	f := &flight{d: d, began: b.cfg.Clock(), files: map[string]bool{}}
	var same []int
	for _, j := range jobs {
		f.files[j.Dst] = j.Dst != ""
	}
	for _, e := range b.flights {
		for name := range f.files {
			if e.files[name] {
				same = append(same, e.d.ID)
				break
			}
		}
	}
	before := b.last
	f.task = par.NewTask(b.ctx, func(ctx context.Context) error { return fly(ctx, f, before, same) })
	b.flights, b.last = append(b.flights, f), f
	delete(b.failed, d.Dataset.Name)
}

// launch starts the added flights. Calls do this last, because flights compete with the messages of the ranks for processors.
func (b *background) launch() {
	for _, f := range b.flights {
		f.task.Go()
	}
}

// start prepares a background flush of a dataset. Collective. launch starts the copying.
func (fl *flusher) start(ctx context.Context, d *cachedSet) error {
	in, err := fl.index.holds(ctx, d)
	if err != nil || in {
		return err
	}
	if err := fl.step("async"); err != nil {
		return err
	}
	err = fl.onRoot(ctx, func() error { return fl.outcomes.Reset(d.ID) })
	var jobs []transfer.Job
	if err == nil {
		jobs, err = fl.begin(ctx, d, prefixdir.Flushing, nil)
	}
	if err != nil {
		return fmt.Errorf("flush of %s: %w", d.Dataset.Name, err)
	}
	fl.event(runlog.Entry{Event: runlog.AsyncFlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	fl.add(d, jobs, func(ctx context.Context, f, before *flight, same []int) error {
		err := before.ended(ctx)
		if err == nil && fl.c.Rank() != 0 { // on rank 0 the flight ends only when the dataset is listed
			err = fl.awaitListed(ctx, same)
		}
		var files []prefixdir.File
		if err == nil {
			files, err = fl.copier.copyOut(ctx, d, jobs, true)
		}
		fl.outcomes.Deliver(d.ID, files, err)
		switch fl.c.Rank() {
		case 0:
			err = fl.conclude(d)
			fl.logEnd(d.Dataset, d.Path, err == nil, true, f.began)
		case fl.outcomes.Head(): // the ranks of another process
			err = errors.Join(err, fl.outcomes.Post(fl.ctx, d.ID))
		}
		return err
	})
	return nil
}

// conclude waits for the results of all ranks and publishes the dataset. It waits even if the copying on this rank was stopped.
// Rank 0 only.
func (fl *flusher) conclude(d *cachedSet) error {
	parts, err := fl.outcomes.All(fl.ctx, d.ID)
	if err == nil {
		err = fl.publish(fl.ctx, d.Dataset, parts)
	}
	if err != nil {
		err = errors.Join(err, fl.flushFile.setFlushed(d.ID, false))
	}
	fl.outcomes.Remove(d.ID)
	return err
}

// awaitListed waits until rank 0 has listed or given up the datasets whose files will be overwritten, because a dataset must have
// its own bytes when it is listed. Rank 0 reports this in the flush file.
func (fl *flusher) awaitListed(ctx context.Context, ids []int) error {
	pause := time.Millisecond
	for _, id := range ids {
		for {
			if err := fl.step("listed"); err != nil {
				return err
			}
			f, err := fl.index.dir.Flush.Read()
			if err != nil {
				return err
			}
			if e, ok := f.Entry(id); !ok || e.Location&(prefixdir.Flushing|prefixdir.SyncFlushing) == 0 {
				break
			}
			if err := par.Pause(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
	return nil
}
