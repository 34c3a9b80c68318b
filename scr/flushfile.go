package scr

import (
	"context"

	"blobio/scr/prefixdir"
	"blobio/scr/record"
)

// flushEdit changes the flush file, in which commands outside of the run see where the datasets are.
type flushEdit struct{ f *prefixdir.Flush }

// flushFile changes the flush file. Rank 0 does; the others return at once.
func (s *Session) flushFile(_ context.Context, change func(f *flushEdit) error) error {
	if s.c.Rank() != 0 {
		return nil
	}
	s.prefMu.Lock()
	defer s.prefMu.Unlock()
	f, err := s.prefix.LoadFlush()
	if err != nil {
		return err
	}
	if err := change(&flushEdit{f}); err != nil {
		return err
	}
	return s.prefix.WriteFlush(f)
}

// cached: the dataset is in the caches, and nowhere else.
func (e *flushEdit) cached(ds record.Dataset) error { return e.f.Put(ds, prefixdir.Cache) }

// found: the dataset was found in the caches by a new run. A flush of the old run that did not end is over.
func (e *flushEdit) found(ds record.Dataset) error {
	at := prefixdir.Cache
	if e.f.Is(ds.ID, prefixdir.PFS) {
		at |= prefixdir.PFS
	}
	return e.f.Put(ds, at)
}

// clear: the dataset is not in the caches any more.
func (e *flushEdit) clear(id int) error {
	if _, ok := e.f.Entry(id); !ok {
		return nil // it was not completed
	}
	return e.f.Clear(id, prefixdir.Cache|prefixdir.Flushing|prefixdir.SyncFlushing)
}

// moving: a flush begins.
func (e *flushEdit) moving(id int, at prefixdir.Location) error { return e.f.Add(id, at) }

// moved: a flush is over; ok: the dataset is in the prefix directory now.
func (e *flushEdit) moved(id int, ok bool) error {
	if _, in := e.f.Entry(id); !in {
		return nil
	}
	if ok {
		if err := e.f.Add(id, prefixdir.PFS); err != nil {
			return err
		}
	}
	return e.f.Clear(id, prefixdir.Flushing|prefixdir.SyncFlushing)
}
