package fti

import (
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Recover is a collective: it fills the variables from the checkpoint of the restart, or from the newest one. It rebuilds a
// damaged checkpoint or takes the one before it. Numbers and sizes of the variables must match the checkpoint; otherwise the
// memory stays unchanged. After any other error the memory may hold parts of checkpoints.
func (s *Session) Recover(ctx context.Context) error {
	var tried error
	excluded, mended := map[key]bool{}, map[key]bool{}
	for {
		if err := s.load(ctx, excluded); err != nil {
			return errors.Join(err, tried)
		}
		if err := comm.Agree(ctx, s.c, s.vars.fit(s.last.key, s.last.sizes)); err != nil {
			return errors.Join(err, tried)
		}
		bufs, err := s.vars.bufs()
		if err == nil {
			err = s.last.stored.r.ReadVars(ctx, bufs, nil)
		}
		err = comm.Agree(ctx, s.c, err)
		if err == nil {
			s.status = 0
			return nil
		}
		if errors.Is(err, fault.ErrBroken) {
			return err
		}
		k := s.last.key // all ranks go on after any error, because an unreadable file counts as lost
		tried = errors.Join(tried, fmt.Errorf("%v: %w", k, err))
		s.last.close()
		if (k.Level == 2 || k.Level == 3) && k.Stamp != 0 && !mended[k] {
			mended[k] = true
			if s.redundancy.rebuild(ctx, k) == nil {
				continue
			}
		}
		excluded[k] = true
	}
}

// load is a collective: it opens the file of the newest checkpoint that is not excluded.
func (s *Session) load(ctx context.Context, excluded map[key]bool) error {
	open := int64(0)
	if s.last.stored != nil {
		open = 1
	}
	n, err := comm.AllreduceOne(ctx, s.c, open, comm.Min)
	if err != nil {
		return err
	}
	if n == 1 {
		return nil
	}
	return s.choose(ctx, excluded)
}

// fit compares the variables with a checkpoint.
func (v variables) fit(k key, sizes map[int32]int64) error {
	for _, x := range v {
		n, ok := sizes[x.id]
		if !ok {
			return fault.Usage("%v has no variable %d, which is protected", k, x.id)
		}
		if err := x.check(); err != nil {
			return err
		}
		if n != x.size {
			return fault.Usage("%v has %d bytes of variable %d, but %d bytes are protected", k, n, x.id, x.size)
		}
	}
	for id := range sizes {
		if v.get(id) == nil {
			return fault.Usage("%v has variable %d, which is not protected", k, id)
		}
	}
	return nil
}

// ReadVar fills one variable and ignores the others. It is not a collective.
func (s *Session) ReadVar(ctx context.Context, id int32) error {
	x := s.vars.get(id)
	if x == nil {
		return fault.Usage("variable %d is not protected", id)
	}
	if err := x.check(); err != nil {
		return err
	}
	if s.last.Level == 0 {
		return fmt.Errorf("variable %d: %w", id, ErrNothing)
	}
	r, err := s.last.reader(ctx)
	if err != nil {
		return err
	}
	return r.ReadVar(ctx, id, x.data)
}
