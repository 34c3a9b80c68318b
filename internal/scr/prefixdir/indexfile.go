package prefixdir

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// IndexFile is the index file, which lists the datasets.
type IndexFile struct {
	TreeFile
	datasets *Datasets      // summaries from which a lost index is rebuilt
	location *time.Location // time zone of the times in the index: the original SCR writes local time without a zone

	mu sync.Mutex // held by Update
}

// New returns an empty index.
func (f *IndexFile) New() *Index {
	t := kvtree.New()
	t.Value(keyVersion).SetInt(indexVersionC)
	return &Index{Tree: t, file: f.path(), loc: f.location}
}

// Read reads an index of any generation. It repairs nothing. The error wraps fs.ErrNotExist if there is no index, and is a
// *FormatError if the index cannot be parsed.
func (f *IndexFile) Read() (*Index, error) {
	file := f.path()
	t, err := kvtree.ReadFile(f.fs(), file, nil)
	if errors.Is(err, fs.ErrNotExist) { // the first generation is said to have kept the index directly in the prefix directory
		above := filepath.Join(f.Path, indexName)
		if t, aerr := kvtree.ReadFile(f.fs(), above, nil); !errors.Is(aerr, fs.ErrNotExist) {
			if aerr != nil {
				return nil, aerr
			}
			return parseIndex(t, above, f.location)
		}
	}
	if err != nil {
		return nil, err
	}
	return parseIndex(t, file, f.location)
}

// Load is like Read, but if the index is lost or damaged, Load makes a new index from the summaries. It changes no file. rebuilt
// is true if it made a new index, and found then lists the summaries. A prefix directory without datasets has an empty index.
func (f *IndexFile) Load() (x *Index, rebuilt bool, found []Found, err error) {
	x, cause := f.Read()
	if cause == nil {
		return x, false, nil, nil
	}
	var damage *fault.FormatError
	if !errors.Is(cause, fs.ErrNotExist) && !errors.As(cause, &damage) {
		return nil, false, nil, cause
	}
	if errors.Is(cause, fault.ErrVersion) {
		return nil, false, nil, cause // a newer program wrote the index: do not replace it
	}
	if x, found, err = f.Rebuild(); err != nil {
		return nil, false, nil, errors.Join(cause, err)
	}
	if damage != nil || x.Len() > 0 {
		f.warn("index rebuilt from the summaries", "file", f.path(), "cause", cause, "datasets", x.Len())
	}
	return x, true, found, nil
}

// Write replaces the index file. After a crash the file holds either the old or the new index. Use Update if other processes may
// change the index too.
func (f *IndexFile) Write(x *Index) error { return f.TreeFile.Write(x.Tree) }

// Update calls change on the index and replaces the file. A lock on the file index.lock excludes concurrent calls, also in other
// processes. The programs of the original SCR take no lock. If the index is lost or damaged, Update first rebuilds it as Load
// does, and keeps a damaged file as index.scr.damaged. If change returns an error, Update returns the error and writes nothing.
func (f *IndexFile) Update(ctx context.Context, change func(x *Index) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Create(); err != nil {
		return err
	}
	return kvtree.Update(ctx, f.fs(), f.File(indexLock), &kvtree.Options{NoLock: f.NoLock, Replace: true}, func(*kvtree.Tree) error {
		x, rebuilt, _, err := f.Load()
		if err != nil {
			return err
		}
		before, err := kvtree.Encode(x.Tree)
		if err != nil {
			return err
		}
		if err := change(x); err != nil {
			return err
		}
		after, err := kvtree.Encode(x.Tree)
		if err != nil {
			return err
		}
		if rebuilt {
			if _, err := f.fs().Stat(f.path()); err == nil {
				if err := f.keepDamaged(errRebuilt); err != nil {
					return err
				}
			}
		} else if bytes.Equal(before, after) && x.From == GenC {
			return nil
		}
		return durable.Replace(f.fs(), f.path(), after, durable.ReplaceOptions{Sync: true, SyncDir: true})
	})
}

var errRebuilt = errors.New("the index could not be read")

// Rebuild makes an index from the usable summaries that Survey found. The newest restartable dataset becomes current. The times
// of fetches and failures are lost.
func (f *IndexFile) Rebuild() (*Index, []Found, error) {
	found, err := f.datasets.Survey()
	if err != nil {
		return nil, nil, err
	}
	x := f.New()
	for i, d := range found {
		if d.Err != nil || d.Summary.Dropped {
			continue
		}
		if err := x.Adopt(d); err != nil { // the dataset is a copy under another name
			found[i].Err = err
		}
	}
	if e, ok := x.Newest(0); ok {
		err = x.SetCurrent(e.Name)
	}
	return x, found, err
}
