package versioned

import (
	"context"
	"errors"

	"blobio/comm"
	"blobio/internal/base/par"
	"blobio/internal/comm/verdict"
)

// waitForSnapshots lets the levels wait for snapshots, if they are kept in a directory.
func (h *Hierarchy) waitForSnapshots() {
	for _, a := range h.levels {
		if a.opt.Durability == DurableSnapshot && !a.nodes.memory {
			a.later = later{on: true, last: a.cat.record().Seq}
		}
	}
}

// flush makes what the levels have durable, all of them in one commit: first the files, then the records. It is collective.
func (h *Hierarchy) flush(ctx context.Context) error {
	var list []*Array
	for _, a := range h.levels {
		if a.later.pending && a.broken == nil { // on all ranks
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

// Close ends the use of all arrays.
func (h *Hierarchy) Close(ctx context.Context) error {
	errs := []error{h.flush(ctx)}
	for _, a := range h.levels {
		errs = append(errs, a.Close(ctx))
	}
	return errors.Join(append(errs, h.global.Close(ctx))...)
}
