package versioned

import (
	"blobio/comm"
	"blobio/internal/base/par"
	"blobio/internal/comm/verdict"
	"context"
	"errors"
	"slices"
)

// With DurableSnapshot and a store in a directory, waitForSnapshots delays the syncs of new level versions until the next
// snapshot.
func (h *Hierarchy) waitForSnapshots() {
	for _, a := range h.levels {
		if a.opt.Durability == DurableSnapshot && !a.nodes.memory {
			a.later = later{on: true, last: a.cat.record().Seq}
		}
	}
}

// flush makes the new versions of all levels durable in one commit: first the files, then the records. It is collective.
func (h *Hierarchy) flush(ctx context.Context) error {
	var list []*Array
	for _, a := range h.levels {
		if a.later.pending && a.broken == nil { // all ranks take this branch
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := par.Each(ctx, len(list), len(list), func(_ context.Context, i int) error {
		return list[i].later.syncFiles(list[i].nodes, list[i].cat.record())
	})
	if err := comm.Agree(ctx, h.c, err); err != nil {
		return err
	}
	conflict := false
	var commit func() error
	if h.global.nodes.keepsRecord() {
		commit = func() error {
			err := par.Each(ctx, len(list), len(list), func(_ context.Context, i int) error {
				a := list[i]
				return a.nodes.putRecord(a.cat.record(), a.later.last)
			})
			conflict = errors.Is(err, ErrConflict)
			return err
		}
	}
	outcome, err := verdict.Commit(ctx, h.c, commit)
	for _, a := range list {
		a.later.last = a.cat.record().Seq
	}
	broken, err := h.global.nodes.verdict(ctx, outcome, conflict, err)
	for _, a := range list {
		if broken {
			a.broken = err
		}
		if err == nil {
			a.later.done()
			_ = a.nodes.sweep(a.cat.record())
		}
	}
	return err
}

// Close ends the use of all arrays of the hierarchy.
func (h *Hierarchy) Close(ctx context.Context) error {
	errs := []error{h.flush(ctx)}
	for _, a := range h.levels {
		errs = append(errs, a.Close(ctx))
	}
	return errors.Join(append(errs, h.global.Close(ctx))...)
}

// later describes what a hierarchy with DurableSnapshot still has to make durable for an array. The newest record is only in
// memory. All files that the record on disk names still exist.
type later struct {
	on      bool
	pending bool     // the record on disk lacks some versions
	files   []string // files that this rank has written but not synced
	last    int64    // commit number of the newest record that this program has read or tried to write
}

func (l *later) wrote(file string) {
	if l.on {
		l.files = append(l.files, file)
	}
}

// since returns the commit number of the newest record that this program knows to be on disk.
func (l *later) since(rec *record) int64 {
	if !l.on {
		return rec.Seq - 1
	}
	last := l.last
	l.last = max(last, rec.Seq) // set even if the write fails, because the record may be on disk
	return last
}

func (l *later) done() { l.pending, l.files = false, nil }

// syncFiles syncs the files that a record names. Other files were removed or will be.
func (l *later) syncFiles(n *nodes, rec *record) error {
	if !n.sync {
		return nil
	}
	need := slices.DeleteFunc(slices.Clone(l.files), func(name string) bool {
		return !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == name })
	})
	if len(need) == 0 {
		return nil
	}
	// Sync all files at once, so that they share the wait for the disk.
	err := par.Each(context.Background(), len(need), len(need), func(_ context.Context, i int) error {
		f, err := n.store.fs.OpenRW(n.file(need[i]))
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err != nil {
		return err
	}
	return n.store.fs.SyncDir(n.store.dir)
}
