package blob

import (
	"context"
	"errors"
	"iter"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// Refresh brings the reader to the state that is committed now, and returns its number of records. It takes no lock, and costs the writer nothing.
// As long as nothing was committed since, it costs the lookup of three names.
//
// All methods see the new state from then on; a call that is under way goes on with the one it began with. What a commit or an append may bring, is
// there: records, sets of subfiles of other ranks, attributes and added variables (Schema returns another one then, in which dimensions and variables keep
// their ids). Values that were taken of a state keep it: a Schema, a View, a CanonicalFile, a Manifest. Take new ones.
//
// A dataset that was replaced is ErrBroken, as is one that has fewer records than before; then Open it again. After an error the reader keeps the state that
// it has. It is safe for concurrent use.
func (r *Reader) Refresh(ctx context.Context) (records int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.fresh.Lock()
	defer r.fresh.Unlock()
	now := r.now()
	stamp := stampOf(r.fs, now.names())
	if stamp != "" && stamp == r.stamp {
		return now.records, nil
	}
	n, err := openAfter(ctx, r.base, &r.opt, knobs{fs: r.fs}, now)
	if err != nil {
		return 0, err
	}
	if err := now.goesOn(n); err != nil {
		return 0, errors.Join(err, n.pool.Close())
	}
	if r.manifest != nil && n.standing().same(now.standing()) {
		r.stamp = stamp
		return now.records, n.pool.Close()
	}
	n.inherit(now)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return 0, errors.Join(fault.Usage("%s: refresh of a reader that is closed", r.base), n.pool.Close())
	}
	n.root = r
	r.newest.Store(n)
	r.mu.Unlock()
	if now != r { // calls under way give back the files that they have open, which closes them
		err = now.pool.Close()
	}
	r.stamp = stamp
	return n.records, err
}

// now is the reader of the newest state.
func (r *Reader) now() *Reader {
	if n := r.newest.Load(); n != nil {
		return n
	}
	return r
}

// opened is the reader that Open has returned.
func (r *Reader) opened() *Reader {
	if r.root != nil {
		return r.root
	}
	return r
}

// goesOn says whether n is a later state of the same dataset.
func (r *Reader) goesOn(n *Reader) error {
	switch {
	case (r.manifest == nil) != (n.manifest == nil), r.layout != n.layout, r.manifest != nil && r.manifest.ID != n.manifest.ID:
		return fault.At(r.base, -1, "dataset", ErrBroken, "replaced by another one since it was opened")
	case n.records < r.records:
		return fault.At(r.base, -1, "records", ErrBroken, "%d, there were %d", n.records, r.records)
	case r.manifest == nil && len(r.schema.differ(n.schema, true, false)) > 0:
		return fault.At(r.base, -1, "header", ErrBroken, "of another dataset than when it was opened")
	}
	return nil
}

// standing is what is in force of a reader.
func (r *Reader) standing() standing {
	return standing{State: &subfile.State{Manifest: r.manifest, Pending: r.pending}}
}

// inherit takes from an earlier state what is the same: the maps, which it may have read.
func (r *Reader) inherit(was *Reader) {
	if r.manifest == nil || r.opt.Maps != 0 {
		return
	}
	for k, f := range r.families[:min(len(r.families), len(was.families))] {
		o := was.families[k]
		if len(f.maps) != len(o.maps) || !f.home.alike(o.home) {
			return
		}
		for d := range f.maps {
			if g, ok := was.maps.Get(&o.maps[d]); ok && g.lost == nil {
				_, _ = r.maps.Make(context.Background(), &f.maps[d], func() (*gotMap, error) { return g, nil })
			}
		}
	}
}

// alike says of two sets that they are the same files with the same maps.
func (s *set) alike(o *set) bool {
	if len(s.parts) != len(o.parts) {
		return false
	}
	for i, p := range s.parts {
		q := o.parts[i]
		if p.info == nil || q.info == nil || p.info.HeaderCRC != q.info.HeaderCRC || p.index != q.index {
			return false
		}
	}
	return true
}

// names are those of the files that change with each commit.
func (r *Reader) names() []string {
	names := []string{subfile.NextName(r.base), subfile.ManifestName(r.base)}
	if r.manifest != nil && r.manifest.Log != "" {
		names = append(names, subfile.LogName(r.base, r.manifest.Log))
	}
	if r.manifest == nil {
		for _, p := range r.sets[0].parts {
			names = append(names, p.wanted())
		}
	}
	return names
}

// stampOf is the same text as long as the files are, "" if that cannot be told.
func stampOf(fsys vfs.FS, names []string) (stamp string) {
	for _, n := range names {
		info, err := fsys.Stat(n)
		if err != nil && !isGone(err) {
			return ""
		}
		if stamp += "|"; err == nil {
			stamp += vfs.Identity(info)
		}
	}
	return stamp
}

// WaitRecords refreshes the reader until it has n records or more, or its writer has finished, and returns how many it has: fewer than n only if
// there will be no more. A writer that died is a WriterDiedError, told within twice the period of its heartbeat; what it has committed
// can be read. A dataset without a mark (Unmarked) is waited for until ctx is done. No lock is taken; it looks a few times in a second.
func (r *Reader) WaitRecords(ctx context.Context, n int64) (int64, error) {
	w := newWatch(r.fs, r.base, nil)
	for {
		records, err := r.Refresh(ctx)
		if err != nil || records >= n {
			return records, err
		}
		s, err := w.Look()
		if err != nil {
			return records, err
		}
		if s.Records > records && s.Committed { // committed since
			continue
		}
		switch {
		case s.State == Finished:
			return r.Refresh(ctx)
		case s.State == Died, w.Hopeless(s):
			return records, &WriterDiedError{Base: r.base, Status: *s}
		}
		if err := pause(ctx, w.pulse.Next()); err != nil {
			return records, err
		}
	}
}

// NewRecords yields the numbers of the records from that one on, each as soon as it is committed, and ends when the writer has finished. An error,
// as of WaitRecords, is its last.
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
