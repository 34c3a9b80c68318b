package scr

import (
	"sync"

	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// flushFile is the flush file, in which commands outside of the run see where the datasets are. Rank 0 keeps it, also from the
// background; on the others its methods do nothing.
type flushFile struct {
	*job
	dir *prefixdir.Dir
	mu  sync.Mutex
}

func (ff *flushFile) edit(change func(f *prefixdir.Flush) error) error {
	if ff.c.Rank() != 0 {
		return nil
	}
	ff.mu.Lock()
	defer ff.mu.Unlock()
	f, err := ff.dir.Flush.Load()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	return ff.dir.Flush.Write(f)
}

// setCached: the dataset is in the caches, and nowhere else.
func (ff *flushFile) setCached(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Put(ds, prefixdir.Cache) })
}

// setFetched: the dataset was brought to the caches, and is in the prefix directory too.
func (ff *flushFile) setFetched(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		if err := f.Put(ds, prefixdir.Cache); err != nil {
			return err
		}
		return f.Add(ds.ID, prefixdir.PFS)
	})
}

// setFound: the dataset was found in the caches by a new run. A flush of the old run that did not end is over.
func (ff *flushFile) setFound(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		in := prefixdir.Cache
		if f.Is(ds.ID, prefixdir.PFS) {
			in |= prefixdir.PFS
		}
		return f.Put(ds, in)
	})
}

// setDropped: the dataset is not in the caches any more.
func (ff *flushFile) setDropped(id int) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		if _, ok := f.Entry(id); !ok {
			return nil // it was not completed
		}
		return f.Clear(id, prefixdir.Cache|prefixdir.Flushing|prefixdir.SyncFlushing)
	})
}

// setFlushing: a flush begins, of the kind that how says.
func (ff *flushFile) setFlushing(id int, how prefixdir.Location) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Add(id, how) })
}

// setFlushed: a flush is over; ok: the dataset is in the prefix directory now.
func (ff *flushFile) setFlushed(id int, ok bool) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		if _, in := f.Entry(id); !in {
			return nil
		}
		if ok {
			if err := f.Add(id, prefixdir.PFS); err != nil {
				return err
			}
		}
		return f.Clear(id, prefixdir.Flushing|prefixdir.SyncFlushing)
	})
}
