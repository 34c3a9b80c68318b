package scr

import (
	"context"
	"strconv"

	"blobio/scr/prefixdir"
)

// Current tells which checkpoint the run starts from when the application found and read it itself, or wants another
// one than the newest; a collective, before HaveRestart. Newer checkpoints of the caches are deleted.
func (s *Session) Current(ctx context.Context, name string) error {
	if err := s.need("Current", Idle); err != nil {
		return err
	}
	s.offer, s.below = nil, 0
	var err error
	id := 0
	if d := s.find(name); d != nil {
		id = d.ID
	}
	if s.c.Rank() == 0 {
		err = s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error {
			e, ok := x.Entry(name)
			if !ok {
				if id != 0 {
					return nil
				}
				return pkg.Errorf("dataset %q: %w", name, ErrMissing)
			}
			id = e.ID
			if !e.Failed.IsZero() {
				if err := x.ClearFailed(name); err != nil {
					return err
				}
			}
			return x.SetCurrent(name)
		})
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	b, err := s.c.Bcast(ctx, 0, []byte(strconv.Itoa(id)))
	if err != nil {
		return err
	}
	if id, err = strconv.Atoi(string(b)); err != nil {
		return err
	}
	return s.outdated(ctx, id)
}

// Drop takes a dataset out of the index; a collective. Its files stay, in the prefix directory and in the caches.
func (s *Session) Drop(ctx context.Context, name string) error {
	if err := s.need("Drop", Idle); err != nil {
		return err
	}
	s.offer = nil
	if d := s.find(name); d != nil { // a flush that ends later would list it again
		if err := s.async.settle(ctx, d); err != nil {
			return err
		}
	}
	var err error
	if s.c.Rank() == 0 {
		err = s.prefix.Drop(ctx, name)
	}
	return s.agree(ctx, err)
}

// Delete deletes a dataset from the caches and from the prefix directory, with the folders that are empty then; a
// collective.
func (s *Session) Delete(ctx context.Context, name string) error {
	if err := s.need("Delete", Idle); err != nil {
		return err
	}
	s.offer = nil
	// What is being flushed may have files of the same names, and is not in the index yet.
	if err := s.async.settleAll(ctx); err != nil {
		return err
	}
	d := s.find(name)
	if d != nil {
		if err := s.drop(ctx, d); err != nil {
			return err
		}
	}
	var err error
	if s.c.Rank() == 0 {
		var x *prefixdir.Index
		if x, _, _, err = s.prefix.LoadIndex(); err == nil {
			if _, ok := x.Entry(name); ok {
				err = s.prefix.Delete(ctx, name)
			} else if d == nil {
				err = pkg.Errorf("dataset %q: %w", name, ErrMissing)
			}
		}
	}
	return s.agree(ctx, err)
}
