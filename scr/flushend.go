package scr

import (
	"context"
	"fmt"
	"time"

	"blobio/kvtree"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// gatherFiles brings what the map is to say to rank 0: the packed trees, by rank.
func (s *Session) gatherFiles(ctx context.Context, files []prefixdir.File) ([][]byte, error) {
	t, err := prefixdir.FilesTree(files)
	var b []byte
	if err == nil {
		b, err = t.Pack()
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	return s.c.Gather(ctx, 0, b)
}

// finishFlush writes map, summary and index: the dataset is in the prefix directory. Rank 0.
func (s *Session) finishFlush(ctx context.Context, ds record.Dataset, parts [][]byte) error {
	if err := s.step("map"); err != nil {
		return err
	}
	if s.prefix.Lock == kvtree.NoLock { // other ranks have left that to this one
		if err := s.prefix.Demote(ctx); err != nil {
			return err
		}
	}
	err := s.prefix.WriteMap(ds.ID, len(parts), func(rank int) ([]prefixdir.File, error) {
		t, err := kvtree.Unpack(parts[rank], nil)
		if err != nil {
			return nil, err
		}
		return prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", rank))
	})
	if err != nil {
		return err
	}
	if err := s.step("summary"); err != nil {
		return err
	}
	if err := s.prefix.WriteSummary(ds, true); err != nil {
		return err
	}
	if err := s.step("index"); err != nil {
		return err
	}
	err = s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error {
		if err := x.Add(ds, true); err != nil {
			return err
		}
		if err := x.MarkFlushed(ds.Name, s.cfg.Clock()); err != nil {
			return err
		}
		if !ds.Checkpoint {
			return nil
		}
		if e, ok := x.Entry(x.Current()); ok && e.ID > ds.ID {
			return nil // an older one may be flushed later
		}
		return x.SetCurrent(ds.Name)
	})
	if err != nil {
		return err
	}
	if err := s.flushFile(ctx, func(f *flushEdit) error { return f.moved(ds.ID, true) }); err != nil {
		return err
	}
	return s.slide(ctx)
}

// slide deletes the oldest checkpoints of the prefix directory beyond SCR_PREFIX_SIZE. Those that failed do not count. Output
// stays. Rank 0.
func (s *Session) slide(ctx context.Context) error {
	if s.p.prefixSize <= 0 {
		return nil
	}
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	var kept int64
	for _, e := range x.Entries() {
		if !e.Dataset.Checkpoint || e.Dataset.Output || !e.Complete {
			continue
		}
		if kept >= s.p.prefixSize && !e.Current {
			if err := s.prefix.Delete(ctx, e.Name); err != nil {
				return err
			}
			continue
		}
		if e.Failed.IsZero() {
			kept++
		}
	}
	return nil
}

func (s *Session) logFlush(ds record.Dataset, from string, ok, async bool, began time.Time) {
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
	s.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(ds.ID)), Name: ds.Name, Took: s.took(began)})
	if ok {
		s.xfer(kind, from, s.p.prefix, ds, ds.Name, began)
	}
}
