package ffstore

import (
	"context"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
)

// Begin starts an incremental checkpoint. Add is not collective; Commit and Abort
// are, and one of them must end it.
func (s *Store) Begin(ctx context.Context, id int32, diff bool) (*Incremental, error) {
	inc, err := s.prepare(ctx, id, diff)
	if err != nil {
		return nil, err
	}
	err = s.files.within(ctx, inc.open)
	if err := comm.Agree(ctx, s.c, err); err != nil {
		inc.giveUp()
		return nil, err
	}
	s.busy = true
	return inc, nil
}

// Add writes a protected variable, whose memory is read until it returns. Each
// must be added once, in any order. After an I/O error Commit will fail on all ranks.
func (inc *Incremental) Add(ctx context.Context, id int32) error {
	data, ok := inc.s.data[id]
	switch {
	case inc.done:
		return fault.Usage("Add of %d after the end of checkpoint %d", id, inc.id)
	case !ok:
		return fault.Usage("variable %d is not protected", id)
	}
	return inc.s.files.within(ctx, func() error { return inc.u.Add(ctx, id, data) })
}

// Commit ends the checkpoint. All protected variables must have been added on all ranks;
// else it fails on all, and nothing has changed for a reader.
func (inc *Incremental) Commit(ctx context.Context) (ffformat.Stats, error) {
	if inc.done {
		return ffformat.Stats{}, fault.Usage("Commit after the end of checkpoint %d", inc.id)
	}
	return inc.commit(ctx, inc.s.files.within(ctx, func() error { return inc.finish(ctx) }))
}

// Abort gives the checkpoint up.
func (inc *Incremental) Abort(ctx context.Context) error {
	if inc.done {
		return nil
	}
	inc.giveUp()
	return comm.Agree(ctx, inc.s.c, nil)
}
