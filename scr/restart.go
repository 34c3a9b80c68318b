package scr

import (
	"context"
	"errors"
	"fmt"

	"blobio/internal/scr/kvcomm"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/scr/kvtree"
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

// HaveRestart is a collective: it reports whether there is a checkpoint to restart from, and which. It is the newest one that is
// whole: in the caches, where Open rebuilt what it could, or in the prefix directory, from where it is fetched now. A checkpoint
// that turns out to be damaged on the way is marked as failed, and the next older one is tried.
//
// A checkpoint of another number of ranks is offered too, with InPlace.
func (s *Session) HaveRestart(ctx context.Context) (Restart, bool, error) {
	if err := s.need("HaveRestart", between); err != nil {
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
	if err := s.need("StartRestart", between); err != nil {
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
	s.restart, s.offer, s.state, s.begun = s.offer, nil, inRestart, true
	return r, nil
}

// CompleteRestart ends the reading; a collective: valid reports whether this rank could use its files. If all could, the
// run goes on from there. If not, the checkpoint is marked as failed and deleted from the caches, and the error is
// ErrInvalid on all ranks; HaveRestart then offers an older one.
func (s *Session) CompleteRestart(ctx context.Context, valid bool) error {
	if err := s.need("CompleteRestart", inRestart); err != nil {
		return err
	}
	r := s.restart
	s.restart, s.state = nil, between
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
		verdict = errors.Join(verdict, err) // the next offer is older, whether or not this one is marked
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

// newest finds the newest checkpoint to restart from that is whole, and fetches it if it is not in the caches; with below one of a
// lower number. A collective; nil: there is none.
func (fe *fetcher) newest(ctx context.Context, below int) (*offer, error) {
	tried := map[string]bool{}
	for {
		d := fe.cache.newest()
		e, ok, err := fe.candidate(ctx, d, tried, below)
		if err != nil {
			return nil, err
		}
		if !ok {
			if d == nil {
				return nil, nil
			}
			if fe.p.global || fe.p.fetchBypass {
				// It was flushed by Open; if that is not where it is, the caches serve.
				fe.warn("scr: the checkpoint is not in the prefix directory; restarting from the cache", "name", d.Dataset.Name)
			}
			return &offer{Restart: Restart{ID: d.ID, Ckpt: d.Dataset.Ckpt, Name: d.Dataset.Name, Ranks: fe.c.Size()}, set: d}, nil
		}
		tried[e.Name], below = true, e.ID
		o, err := fe.fetch(ctx, e)
		if err == nil {
			return o, nil
		}
		if fatal(ctx, err) {
			return nil, err
		}
		fe.warn("scr: checkpoint cannot be fetched", "name", e.Name, "err", err)
	}
}

// candidate is the next checkpoint of the prefix directory to try: newer than all in the caches, or any if
// the restart is to be from there; with below one of a lower number. The same on all ranks; ok is false if the caches are to serve.
func (fe *fetcher) candidate(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (prefixdir.Entry, bool, error) {
	var t *kvtree.Tree
	var err error
	if fe.c.Rank() == 0 && (fe.p.fetch || fe.p.global || fe.p.fetchBypass) {
		var e prefixdir.Entry
		var found bool
		if e, found, err = fe.index.choose(ctx, d, tried, below); found {
			t = kvtree.New()
			t.SetAt(e.Dataset.Tree(), "DSET")
			t.Value("NAME").SetStr(e.Name)
			t.Value("ID").SetInt(e.ID)
		}
	}
	if t, err = kvcomm.Bcast(ctx, fe.c, 0, t, err, nil); err != nil {
		return prefixdir.Entry{}, false, fmt.Errorf("index: %w", err)
	}
	if t.Len() == 0 {
		return prefixdir.Entry{}, false, nil
	}
	e, err := parseEntry(t)
	return e, err == nil, err
}

// parseEntry reads an entry that candidate sent.
func parseEntry(t *kvtree.Tree) (e prefixdir.Entry, err error) {
	if e.Name, err = t.Value("NAME").Str(); err != nil {
		return e, err
	}
	if e.ID, err = t.Value("ID").Int(); err != nil {
		return e, err
	}
	e.Dataset, err = record.ParseDataset(t.Get("DSET"), "")
	return e, err
}
