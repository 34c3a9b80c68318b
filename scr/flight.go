package scr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/transfer"
)

// start prepares to flush a dataset in the background; a collective. Nothing is copied before launch.
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
		if err == nil && fl.c.Rank() != 0 { // on rank 0 it is over when it is listed
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
		case fl.outcomes.Head(): // of another process
			err = errors.Join(err, fl.outcomes.Post(fl.ctx, d.ID))
		}
		return err
	})
	return nil
}

// conclude waits for what all ranks have delivered, also after the copying here was told to stop, and publishes it. Rank 0.
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

// awaitListed waits until rank 0 has listed datasets whose files are to be written again, or given them up: what is listed must
// have its own bytes at that moment. Rank 0 says so in the flush file.
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
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
	return nil
}
