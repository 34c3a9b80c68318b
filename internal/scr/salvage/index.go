package salvage

import (
	"context"
	"fmt"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// Index rebuilds a scavenged dataset, writes its map and its summary, and lists it as complete. If the index lists the dataset as
// complete and its files exist (Result.Safe), Index does not change the dataset, but applies Options.Current. Older checkpoints
// that have the same name or share files stay complete until this dataset is whole.
func Index(ctx context.Context, o Options) (*Result, error) {
	p, err := newTarget(o.Prefix, o.Was, o.ID)
	if err != nil {
		return nil, err
	}
	if err := p.dir.FinishInstalls(ctx); err != nil {
		return nil, err
	}
	if e, ok, err := p.entry(); err != nil {
		return nil, err
	} else if ok && e.Complete {
		if !sameDataset(e.Dataset, o.Dataset) {
			return nil, fmt.Errorf("dataset %d has a different name %.80q in the index: %w", o.ID, e.Name, fault.ErrExist)
		}
		safe, err := p.safe(e)
		if err != nil {
			return nil, err
		}
		if safe { // if the dataset is not safe, the scavenged files may complete it
			return &Result{ID: o.ID, Dataset: e.Dataset, Safe: true}, p.current(ctx, o, e.Dataset)
		}
	}
	res, err := Rebuild(ctx, o)
	if err != nil {
		return nil, err
	}
	ds := res.Dataset
	if _, err := p.announce(ctx, ds); err != nil {
		return nil, err
	}
	if err := p.dir.Datasets.WriteMap(o.ID, res.Ranks, func(rank int) ([]prefixdir.File, error) { return res.Files[rank], nil }); err != nil {
		return nil, err
	}
	x, _, _, err := p.dir.Index.Load()
	if err != nil {
		return nil, err
	}
	if res.owned || len(res.hidden) > 0 || p.replaces(x, ds) {
		var names []string
		for _, list := range res.Files {
			for _, f := range list {
				names = append(names, f.Path)
			}
		}
		if err := p.install(ctx, o, ds, names, res.hidden); err != nil {
			return nil, err
		}
		return res, p.current(ctx, o, ds)
	}
	if err := p.dir.Datasets.WriteSummary(ds, true); err != nil {
		return nil, err
	}
	err = p.dir.Index.Update(ctx, func(x *prefixdir.Index) error {
		if err := x.Add(ds, true); err != nil {
			return err
		}
		return x.MarkFlushed(ds.Name, o.now())
	})
	if err != nil {
		return nil, err
	}
	return res, p.current(ctx, o, ds)
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

func (p target) entry() (prefixdir.Entry, bool, error) {
	x, _, _, err := p.dir.Index.Load()
	if err != nil {
		return prefixdir.Entry{}, false, err
	}
	for _, e := range x.Entries() {
		if e.ID == p.id {
			return e, true, nil
		}
	}
	return prefixdir.Entry{}, false, nil
}

// current makes a checkpoint the current dataset, if the options request it.
func (p target) current(ctx context.Context, o Options, ds record.Dataset) error {
	if !o.Current || !ds.Checkpoint {
		return nil
	}
	return p.dir.Index.Update(ctx, func(x *prefixdir.Index) error { return x.SetCurrent(ds.Name) })
}
