package scr

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// index holds the datasets of the prefix directory. All methods except holds are for rank 0 only.
type index struct {
	*job
	dir *prefixdir.Dir

	mu     sync.Mutex // held while datasets are installed, because background flushes install datasets too
	failed bool       // the last install of a flush failed
}

// older reports whether an older dataset of the same name is complete.
func (ix *index) older(ds record.Dataset) (bool, error) {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return false, err
	}
	e, ok := x.Entry(ds.Name)
	return ok && e.ID < ds.ID, nil
}

// install lists a whole dataset and gives its hidden files their final names; see prefixdir.Hidden.
func (ix *index) install(ctx context.Context, ds record.Dataset, parts [][]byte, names, hidden []string) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.writeMap(ds.ID, parts); err != nil {
		return err
	}
	if err := ix.step("install"); err != nil {
		return err
	}
	ix.failed = true
	lost, err := ix.dir.Install(ctx, ds, ix.cfg.Clock(), names, hidden)
	ix.tellLost(ds, lost, names)
	ix.failed = err != nil
	return err
}

// pending reports whether an install has failed and must be completed.
func (ix *index) pending() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.failed
}

// finishInstalls completes installs that failed.
func (ix *index) finishInstalls(ctx context.Context) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	err := ix.dir.FinishInstalls(ctx)
	ix.failed = ix.failed && err != nil
	return err
}

// begin writes an empty index if there are no datasets. Without it, after the first summary is written, the missing index would
// be considered lost. Rank 0 only.
func (ix *index) begin(ctx context.Context) error {
	_, rebuilt, found, err := ix.dir.Index.Load()
	if err != nil || !rebuilt || len(found) > 0 {
		return err
	}
	return ix.dir.Index.Update(ctx, func(*prefixdir.Index) error { return nil })
}

// purge deletes all datasets from the prefix directory. Rank 0 only.
func (ix *index) purge(ctx context.Context) error {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return err
	}
	for _, e := range x.Entries() {
		if err := ix.dir.Delete(ctx, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// writeAppConf writes the program's settings for commands outside of the run. Rank 0 only.
func (ix *index) writeAppConf() error {
	t := kvtree.New()
	for p := range config.Paths(ix.set, config.Program) {
		t.Touch(p...)
	}
	return ix.dir.AppConf.Write(t)
}

// holds reports whether a dataset is in the prefix directory. Collective.
func (ix *index) holds(ctx context.Context, d *cachedSet) (bool, error) {
	var in bool
	err := ix.onRoot(ctx, func() error {
		if ix.pending() {
			if err := ix.finishInstalls(ctx); err != nil {
				return err
			}
		}
		x, _, _, err := ix.dir.Index.Load()
		if err != nil {
			return err
		}
		e, ok := x.Entry(d.Dataset.Name)
		if !ok || e.ID != d.ID || !e.Complete || !e.Failed.IsZero() {
			return nil
		}
		gone, err := ix.dir.Presence().Of(e)
		if gone != nil {
			ix.log.Warn("scr: a dataset that is complete in the index no longer exists", "name", e.Name, "id", e.ID, "err", gone)
		}
		in = gone == nil
		return err
	})
	if err != nil {
		return false, err
	}
	return ix.rootSays(ctx, in)
}

// replace deletes an older dataset with the same name from the prefix directory. It keeps files that the new dataset already has
// there. Rank 0 only.
func (ix *index) replace(ctx context.Context, ds record.Dataset, there map[string]bool) error {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return err
	}
	if e, ok := x.Entry(ds.Name); ok && e.ID != ds.ID {
		ix.log.Info("scr: a dataset of the prefix directory is replaced", "name", ds.Name, "old", e.ID, "new", ds.ID)
		return ix.dir.DeleteExcept(ctx, ds.Name, there)
	}
	return nil
}

// slide deletes the oldest checkpoints in the prefix directory, so that SCR_PREFIX_SIZE checkpoints are left. It does not count
// failed checkpoints, and checkpoints with missing or overwritten files. Output is kept. Rank 0 only.
func (ix *index) slide(ctx context.Context) error {
	if ix.p.prefixSize <= 0 {
		return nil
	}
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return err
	}
	var kept int64
	sound := ix.sound(x)
	for _, e := range x.Entries() {
		if !e.Dataset.Checkpoint || e.Dataset.Output || !e.Complete {
			continue
		}
		if kept >= ix.p.prefixSize && !e.Current {
			if err := ix.dir.Delete(ctx, e.Name); err != nil {
				return err
			}
			continue
		}
		if !e.Failed.IsZero() {
			continue
		}
		if ok, err := sound(e); err != nil {
			return err
		} else if ok {
			kept++
		}
	}
	return nil
}

// sound returns a function that checks a dataset that x lists as complete. The function reports whether all files of the dataset
// exist and belong to it.
func (ix *index) sound(x *prefixdir.Index) func(e prefixdir.Entry) (bool, error) {
	over, there := ix.dir.Overwritten(x), ix.dir.Presence()
	return func(e prefixdir.Entry) (bool, error) {
		if taken, err := over.Of(e); err != nil || taken != nil {
			return false, err
		}
		gone, err := there.Of(e)
		return gone == nil && err == nil, err
	}
}

// hasNewer reports whether the prefix directory has a newer checkpoint to restart from. Without this check, a cached dataset
// whose deletion was interrupted by a power loss would replace it.
func (ix *index) hasNewer(id int) bool {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return false // later readers get the error
	}
	sound := ix.sound(x)
	return slices.ContainsFunc(x.Candidates(), func(e prefixdir.Entry) bool {
		if e.ID <= id {
			return false
		}
		ok, err := sound(e)
		return ok && err == nil
	})
}

// hasFrom reports whether the prefix directory has a complete checkpoint with this or a higher number. Rank 0.
func (ix *index) hasFrom(id int) (bool, error) {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return false, err
	}
	sound := ix.sound(x)
	for _, e := range x.Entries() {
		if e.ID < id || !e.Complete || !e.Dataset.Checkpoint {
			continue
		}
		if ok, err := sound(e); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// markRestart records in the index whether a restart succeeded. Rank 0 only.
func (ix *index) markRestart(ctx context.Context, name string, ok bool) error {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return err
	}
	if _, in := x.Entry(name); !in {
		return nil
	}
	return ix.dir.Index.Update(ctx, func(x *prefixdir.Index) error {
		if ok {
			return x.SetCurrent(name)
		}
		if x.Current() == name {
			if err := x.SetCurrent(""); err != nil {
				return err
			}
		}
		return x.MarkFailed(name, ix.cfg.Clock())
	})
}

// isOther reports whether the index lists a dataset, and another one is current.
func (ix *index) isOther(name string) (bool, error) {
	x, _, _, err := ix.dir.Index.Load()
	if err != nil {
		return false, err
	}
	e, ok := x.Entry(name)
	return ok && !e.Current, nil
}

// choose does the work of candidate on rank 0.
func (ix *index) choose(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (e prefixdir.Entry, ok, mark bool, err error) {
	x, rebuilt, found, err := ix.dir.Index.Load()
	if err != nil {
		return e, false, false, err
	}
	if rebuilt && len(found) > 0 {
		ix.log.Warn("scr: the index was lost or damaged and is rebuilt from the summaries")
		if err := ix.dir.Index.Update(ctx, func(*prefixdir.Index) error { return nil }); err != nil {
			return e, false, false, err
		}
		if x, _, _, err = ix.dir.Index.Load(); err != nil {
			return e, false, false, err
		}
	}
	current := x.Current()
	if e, ok, err = ix.pick(x, d, tried, below); err != nil {
		return e, false, false, err
	}
	name := e.Name
	if !ok && d != nil {
		name = d.Dataset.Name
	}
	_, listed := x.Entry(name)
	return e, ok, listed && name != current, nil
}

// pick returns the checkpoint of the index to try next.
func (ix *index) pick(x *prefixdir.Index, d *cachedSet, tried map[string]bool, below int) (prefixdir.Entry, bool, error) {
	if ix.p.current != "" && !tried["\x00"] {
		tried["\x00"] = true // only once
		if _, ok := x.Entry(ix.p.current); ok {
			if err := x.SetCurrent(ix.p.current); err != nil {
				return prefixdir.Entry{}, false, err
			}
		} else {
			ix.log.Warn("scr: SCR_CURRENT is not in the index", "name", ix.p.current)
		}
	}
	over := ix.dir.Overwritten(x)
	for _, e := range x.Candidates() {
		if tried[e.Name] || below > 0 && e.ID >= below {
			continue // the current checkpoint failed, and newer checkpoints were given up
		}
		taken, err := over.Of(e)
		if err != nil {
			return prefixdir.Entry{}, false, err
		}
		if taken != nil {
			ix.log.Warn("scr: a checkpoint that the index lists as complete is "+taken.String(), "name", e.Name, "id", e.ID)
			continue
		}
		if d != nil && e.ID < d.ID {
			return e, false, nil
		}
		if d != nil && e.ID == d.ID && !ix.p.global && !ix.p.fetchBypass {
			return e, false, nil
		}
		return e, true, nil
	}
	return prefixdir.Entry{}, false, nil
}

// writeMap writes the map of a dataset. parts is the result of gatherFiles. Rank 0 only.
func (ix *index) writeMap(id int, parts [][]byte) error {
	return ix.dir.Datasets.WriteMap(id, len(parts), func(rank int) ([]prefixdir.File, error) {
		t, err := kvtree.Unpack(parts[rank], nil)
		if err != nil {
			return nil, err
		}
		files, err := prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", rank))
		for i := range files {
			files[i].Extra.Unset(keyHidden)
		}
		return files, err
	})
}

// takeOver marks the datasets whose files are about to be replaced as incomplete, and returns their numbers.
func (ix *index) takeOver(ctx context.Context, c *prefixdir.Claims, ds record.Dataset, files ...string) (map[int]bool, error) {
	lost, err := c.Claim(ctx, files...)
	ids := map[int]bool{}
	for _, e := range lost {
		ids[e.ID] = true
	}
	ix.tellLost(ds, lost, files)
	return ids, err
}

func (ix *index) tellLost(ds record.Dataset, lost []prefixdir.Entry, files []string) {
	for _, e := range lost {
		ix.log.Warn("scr: a dataset of the prefix directory is now incomplete, because another dataset has files with the same names",
			"dataset", e.Name, "id", e.ID, "new", ds.Name, "rank", ix.c.Rank(), "files", len(files), "first", files[0])
	}
}
