package scr

import (
	"context"
	"errors"

	"blobio/internal/scr/runlog"
)

// Restart is a checkpoint that the application may restart from.
type Restart struct {
	ID    int
	Ckpt  int
	Name  string
	Ranks int // of the run that wrote it
	// InPlace: the files are read where they are in the prefix directory, and any rank may Route any of them;
	// Files and Owner tell whose they are. Otherwise each rank reads its own.
	InPlace bool
}

// HaveRestart is a collective: whether there is a checkpoint to restart from, and which. It is the newest one that is
// whole: in the caches, where Open rebuilt what could be, or in the prefix directory, from where it is fetched now. What
// turns out to be damaged on the way is marked as failed, and the next older one is tried.
//
// A checkpoint of another number of ranks is offered too, with InPlace.
func (s *Session) HaveRestart(ctx context.Context) (Restart, bool, error) {
	if err := s.need("HaveRestart", Idle); err != nil {
		return Restart{}, false, err
	}
	if s.offer != nil {
		return s.offer.Restart, true, nil
	}
	o, err := s.fetch.newest(ctx, s.below)
	if err != nil || o == nil {
		return Restart{}, false, err
	}
	s.offer = o
	return o.Restart, true, nil
}

// StartRestart begins to read the checkpoint that HaveRestart offered (and asks for it if the caller did not); a
// collective. Without one the error is ErrNoRestart.
func (s *Session) StartRestart(ctx context.Context) (Restart, error) {
	if err := s.need("StartRestart", Idle); err != nil {
		return Restart{}, err
	}
	r, ok, err := s.HaveRestart(ctx)
	if err != nil {
		return r, err
	}
	if !ok {
		return r, ErrNoRestart
	}
	if err := s.step("restart"); err != nil {
		return r, err
	}
	s.restart, s.offer, s.state = s.offer, nil, Restoring
	return r, nil
}

// CompleteRestart ends the reading; a collective: valid reports whether this rank could use its files. If all could, the
// run goes on from there. If not, the checkpoint is marked as failed and deleted from the caches, and the error is
// ErrInvalid on all ranks; HaveRestart then offers an older one.
func (s *Session) CompleteRestart(ctx context.Context, valid bool) error {
	if err := s.need("CompleteRestart", Restoring); err != nil {
		return err
	}
	r := s.restart
	s.restart, s.state = nil, Idle
	s.scratch.clear()
	verdict, err := s.unanimous(ctx, valid, "restart from "+r.Name)
	if err != nil {
		return err
	}
	refused := r.set
	if verdict != nil {
		s.below = r.ID
		if d := s.cache.find(r.Name); refused == nil && d != nil && d.ID == r.ID {
			refused = d // it was read in the prefix directory; the caches have the same bytes
		}
		if refused != nil { // its flush would make it current
			if err := s.flush.abandon(ctx, refused); err != nil {
				return err
			}
		}
	}
	ev := runlog.RestartSuccess
	if verdict != nil {
		ev = runlog.RestartFail
	}
	s.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(r.ID)), Name: r.Name})
	if s.c.Rank() == 0 {
		err = s.index.markRestart(ctx, r.Name, verdict == nil)
	}
	if err := s.agree(ctx, err); err != nil {
		if verdict == nil || fatal(ctx, err) {
			return err
		}
		verdict = errors.Join(verdict, err) // what is offered next is older, whether or not this one is marked
	}
	if verdict == nil {
		s.computed = s.cfg.Clock()
		return s.cache.outdated(ctx, r.ID)
	}
	if refused != nil {
		return errors.Join(verdict, s.cache.drop(ctx, refused))
	}
	return verdict
}

// offer is the checkpoint that HaveRestart found.
type offer struct {
	Restart
	set     *cachedSet // in the caches
	inPlace *inPlace   // in the prefix directory
}
