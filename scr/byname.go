package scr

import (
	"context"
	"fmt"
	"strconv"

	"blobio/internal/scr/prefixdir"
)

// Current sets the checkpoint that the run starts from when the application found and read it itself, or wants another
// one than the newest; a collective, before HaveRestart. Newer checkpoints of the caches are deleted.
func (s *Session) Current(ctx context.Context, name string) error {
	if err := s.need("Current", between); err != nil {
		return err
	}
	s.offer, s.below = nil, 0
	id := 0
	if d := s.cache.find(name); d != nil {
		id = d.ID
	}
	err := s.onRoot(ctx, func() error {
		return s.index.dir.Index.Update(ctx, func(x *prefixdir.Index) error {
			e, ok := x.Entry(name)
			if !ok {
				if id != 0 {
					return nil
				}
				return fmt.Errorf("dataset %q: %w", name, ErrMissing)
			}
			if taken, err := s.index.dir.Overwritten(x).Of(e); err != nil {
				return err
			} else if taken != nil {
				return fmt.Errorf("dataset %q is %v: %w", name, taken, ErrMissing)
			}
			if gone, err := s.index.dir.Presence().Of(e); err != nil {
				return err
			} else if gone != nil && id == 0 { // else the caches serve
				return fmt.Errorf("dataset %q: %w: %w", name, ErrMissing, gone)
			}
			id = e.ID
			if !e.Failed.IsZero() {
				if err := x.ClearFailed(name); err != nil {
					return err
				}
			}
			return x.SetCurrent(name)
		})
	})
	if err != nil {
		return err
	}
	b, err := s.c.Bcast(ctx, 0, []byte(strconv.Itoa(id)))
	if err != nil {
		return err
	}
	if id, err = strconv.Atoi(string(b)); err != nil {
		return err
	}
	return s.cache.outdated(ctx, id)
}

// Drop takes a dataset out of the index; a collective. Its files stay, in the prefix directory and in the caches.
func (s *Session) Drop(ctx context.Context, name string) error {
	if err := s.need("Drop", between); err != nil {
		return err
	}
	s.offer = nil
	if d := s.cache.find(name); d != nil { // a flush that ends later would list it again
		if err := s.flush.settle(ctx, d); err != nil {
			return err
		}
	}
	return s.onRoot(ctx, func() error { return s.index.dir.Drop(ctx, name) })
}

// Delete deletes a dataset from the caches and from the prefix directory, with the folders that are empty then; a
// collective.
func (s *Session) Delete(ctx context.Context, name string) error {
	if err := s.need("Delete", between); err != nil {
		return err
	}
	s.offer = nil
	// What is being flushed may have files of the same names, and is not in the index yet.
	if err := s.flush.settleAll(ctx); err != nil {
		return err
	}
	d := s.cache.find(name)
	if d != nil {
		if err := s.cache.drop(ctx, d); err != nil {
			return err
		}
	}
	return s.onRoot(ctx, func() error {
		x, _, _, err := s.index.dir.Index.Load()
		if err != nil {
			return err
		}
		if _, ok := x.Entry(name); ok {
			return s.index.dir.Delete(ctx, name)
		} else if d == nil {
			return fmt.Errorf("dataset %q: %w", name, ErrMissing)
		}
		return nil
	})
}
