package fti

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// sound is a collective: it opens and verifies this rank's file of a checkpoint. If a file of any rank is lost or damaged, it rebuilds
// the checkpoint once.
func (s *Session) sound(ctx context.Context, c *candidate) (*stored, error) {
	var first error
	if c.whole {
		f, err := s.verified(ctx, c)
		if err == nil || !c.set || errors.Is(err, fault.ErrBroken) {
			return f, err
		}
		first = err
	}
	bare, err := s.redundancy.rebuild(ctx, c.key)
	if err != nil {
		return nil, errors.Join(first, err)
	}
	c.fresh, c.bare = true, bare
	return s.verified(ctx, c)
}

// protectAgain is a collective: it writes the redundancy files of a committed checkpoint, some of which are lost. Without them the
// checkpoint is still good, so an error is only a warning.
func (s *Session) protectAgain(ctx context.Context, k key) error {
	_, err := s.redundancy.rebuild(ctx, k)
	if err == nil {
		err = comm.Agree(ctx, s.c, s.publish(k, false))
	}
	if err != nil && s.c.Rank() == 0 {
		slog.Warn("fti: " + err.Error())
	}
	return err
}

// verified is a collective: it opens this rank's file of a checkpoint and reads all its bytes.
func (s *Session) verified(ctx context.Context, c *candidate) (*stored, error) {
	name := s.p.final(c.key, ckpt)
	if c.diff {
		name = s.p.diffFile()
	}
	f, err := (*stored)(nil), fs.ErrNotExist
	if c.fresh {
		f, err = s.open(ctx, s.p.fresh(c.key, ckpt))
	}
	if errors.Is(err, fs.ErrNotExist) {
		f, err = s.open(ctx, name)
	}
	if err == nil {
		err = s.verify(ctx, f, c.Stamp)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		if f != nil {
			f.close()
		}
		return nil, err
	}
	return f, nil
}

// Recover fills the variables of this rank from the checkpoint of the restart, or from the newest one. It is not a collective, as in
// FTI. Numbers and sizes of the variables must match the checkpoint; otherwise the memory stays unchanged. After any other error the
// memory may hold wrong bytes.
func (s *Session) Recover(ctx context.Context) error {
	if s.last.Level == 0 {
		return ErrNothing
	}
	if err := s.vars.fit(s.last.key, s.last.sizes); err != nil {
		return err
	}
	r, err := s.last.reader(ctx)
	if err != nil {
		return err
	}
	bufs, err := s.vars.bufs()
	if err == nil {
		err = r.ReadVars(ctx, bufs, nil)
	}
	if err == nil {
		s.status = 0
	}
	return err
}

// fit compares the variables with a checkpoint.
func (v *variables) fit(k key, sizes map[int32]int64) error {
	for _, x := range v.list {
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
