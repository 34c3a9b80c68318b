package read

import (
	"context"
	"errors"
	"iter"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/watch"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/subfile"
)

// Refresh is blob.Reader.Refresh.
func (r *Reader) Refresh(ctx context.Context) (records int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.fresh.Lock()
	defer r.fresh.Unlock()
	now := r.Now()
	stamp := watch.StampOf(r.Files.Fs, now.Data.names())
	if stamp != "" && stamp == r.stamp {
		return now.Data.Records, nil
	}
	n, err := openAfter(ctx, r.Files.Base, &r.Files.Opt, dataset.Knobs{Fs: r.Files.Fs}, now.Data)
	if err != nil {
		return 0, err
	}
	if err := now.Data.goesOn(n.Data); err != nil {
		return 0, errors.Join(err, n.Files.Pool.Close())
	}
	if r.Files.Manifest != nil && n.Files.standing().Same(now.Files.standing()) {
		r.stamp = stamp
		return now.Data.Records, n.Files.Pool.Close()
	}
	n.Maps.inherit(now.Maps)
	r.Life.mu.Lock()
	if r.Life.closed {
		r.Life.mu.Unlock()
		return 0, errors.Join(fault.Usage("%s: refresh of a closed reader", r.Files.Base), n.Files.Pool.Close())
	}
	n.Life = r.Life
	r.newest.Store(n)
	r.Life.mu.Unlock()
	if now != r { // calls in progress return their open files, and the closed pool closes them
		err = now.Files.Pool.Close()
	}
	r.stamp = stamp
	return n.Data.Records, err
}

// Now returns the reader of the newest state.
func (r *Reader) Now() *Reader {
	if n := r.newest.Load(); n != nil {
		return n
	}
	return r
}

// goesOn checks that n is a later state of the same dataset.
func (r *Data) goesOn(n *Data) error {
	switch {
	case (r.Files.Manifest == nil) != (n.Files.Manifest == nil), r.Layout != n.Layout, r.Files.Manifest != nil && r.Files.Manifest.ID != n.Files.Manifest.ID:
		return fault.At(r.Files.Base, -1, "dataset", dataset.ErrBroken, "another dataset has replaced the opened one")
	case n.Records < r.Records:
		return fault.At(r.Files.Base, -1, "records", dataset.ErrBroken, "the number of records fell to %d from %d", n.Records, r.Records)
	case r.Files.Manifest == nil && len(r.Schema.Differ(n.Schema, true, false)) > 0:
		return fault.At(r.Files.Base, -1, "header", dataset.ErrBroken, "another dataset has replaced the opened one")
	}
	return nil
}

// standing returns the seals of the state that the reader shows.
func (r *Files) standing() Standing {
	return Standing{State: &subfile.State{Manifest: r.Manifest, Pending: r.Pending}}
}

// inherit takes over the maps of an earlier state if they are the same.
func (r *Maps) inherit(was *Maps) {
	if r.Files.Manifest == nil || r.Files.Opt.Maps != 0 {
		return
	}
	for k, f := range r.Data.Families[:min(len(r.Data.Families), len(was.Data.Families))] {
		o := was.Data.Families[k]
		if len(f.Maps) != len(o.Maps) || !f.Home.alike(o.Home) {
			return
		}
		for d := range f.Maps {
			if g, ok := was.Cache.Get(&o.Maps[d]); ok && g.lost == nil {
				_, _ = r.Cache.Make(context.Background(), &f.Maps[d], func() (*gotMap, error) { return g, nil })
			}
		}
	}
}

// alike reports whether two sets consist of the same files with the same maps.
func (s *Set) alike(o *Set) bool {
	if len(s.Parts) != len(o.Parts) {
		return false
	}
	for i, p := range s.Parts {
		q := o.Parts[i]
		if p.Info == nil || q.Info == nil || p.Info.HeaderCRC != q.Info.HeaderCRC || p.Index != q.Index {
			return false
		}
	}
	return true
}

// names returns the names of the files that every commit changes.
func (r *Data) names() []string {
	names := []string{subfile.NextName(r.Files.Base), subfile.ManifestName(r.Files.Base)}
	if r.Files.Manifest != nil && r.Files.Manifest.Log != "" {
		names = append(names, subfile.LogName(r.Files.Base, r.Files.Manifest.Log))
	}
	if r.Files.Manifest == nil {
		for _, p := range r.Sets[0].Parts {
			names = append(names, p.Wanted())
		}
	}
	return names
}

// WaitRecords is blob.Reader.WaitRecords.
func (r *Reader) WaitRecords(ctx context.Context, n int64) (int64, error) {
	w := watch.NewWatchAt(r.Files.Fs, r.Files.Base, nil)
	for {
		records, err := r.Refresh(ctx)
		if err != nil || records >= n {
			return records, err
		}
		s, err := w.Look()
		if err != nil {
			return records, err
		}
		if s.Records > records && s.Committed { // the set was committed after the refresh
			continue
		}
		switch {
		case s.State == watch.Finished:
			return r.Refresh(ctx)
		case s.State == watch.Died, w.Hopeless(s):
			return records, &watch.WriterDiedError{Base: r.Files.Base, Status: *s}
		}
		if err := par.Pause(ctx, w.Pulse.Next()); err != nil {
			return records, err
		}
	}
}

// NewRecords is blob.Reader.NewRecords.
func (r *Reader) NewRecords(ctx context.Context, from int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for rec := from; ; {
			have, err := r.WaitRecords(ctx, rec+1)
			if err != nil {
				yield(rec, err)
				return
			}
			if have <= rec {
				return
			}
			for ; rec < have; rec++ {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}
