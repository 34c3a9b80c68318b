package scr

import (
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/scr/kvtree"
)

// Restart is a checkpoint from which the application may restart.
type Restart struct {
	ID    int
	Ckpt  int
	Name  string
	Ranks int // number of ranks of the run that wrote the checkpoint
	// InPlace means that the files are read in the prefix directory, and that any rank may Route any file. Files and Owner return
	// the ranks that wrote the files. Without InPlace each rank reads only its own files.
	InPlace bool
}

// HaveRestart reports whether there is a checkpoint to restart from, and returns it. Collective. It is the newest whole checkpoint.
// It may be in the caches, where Open has rebuilt lost files, or in the prefix directory, from which HaveRestart fetches it. If a
// checkpoint is damaged, HaveRestart marks it as failed and tries the next older checkpoint.
//
// A checkpoint that a different number of ranks wrote is also offered, with InPlace.
func (s *Session) HaveRestart(ctx context.Context) (Restart, bool, error) {
	if err := s.need("HaveRestart", between); err != nil {
		return Restart{}, false, err
	}
	if s.offer == nil {
		o, err := s.fetch.newest(ctx, s.below)
		if err != nil {
			return Restart{}, false, err
		}
		s.offer = o
	}
	return s.offer.Restart, s.offer.ID != 0, nil
}

// StartRestart begins to read the checkpoint that HaveRestart offered. Collective. If the application has not called HaveRestart,
// StartRestart calls it. If there is no checkpoint, the error is ErrNoRestart.
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

// CompleteRestart ends the reading. Collective. valid reports whether this rank could use its files. If all ranks could use their
// files, the run continues from this checkpoint. Otherwise the checkpoint is marked as failed and deleted from the caches, and all
// ranks get ErrInvalid. HaveRestart then offers an older checkpoint.
func (s *Session) CompleteRestart(ctx context.Context, valid bool) error {
	if err := s.need("CompleteRestart", inRestart); err != nil {
		return err
	}
	r := s.restart
	s.restart, s.state = nil, between
	if r.inPlace != nil {
		s.scratch.clear()
	}
	verdict, err := s.unanimous(ctx, valid, "restart from "+r.Name)
	if err != nil {
		return err
	}
	refused := r.set
	if verdict != nil {
		s.below = r.ID
		if d := s.cache.find(r.Name); refused == nil && d != nil && d.ID == r.ID {
			refused = d // the checkpoint was read in the prefix directory, and the caches have the same bytes
		}
		if refused != nil { // a flush of the refused checkpoint would make it current
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
	if verdict != nil || r.mark {
		err := s.onRoot(ctx, func() error { return s.index.markRestart(ctx, r.Name, verdict == nil) })
		if err != nil && (verdict == nil || fatal(ctx, err)) {
			return err
		}
		verdict = errors.Join(verdict, err) // the next offer is older even if this checkpoint could not be marked as failed
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

// offer is the checkpoint that HaveRestart found. ID 0 means that there is none.
type offer struct {
	Restart
	set     *cachedSet // nil unless the checkpoint is in the caches
	inPlace *inPlace   // nil unless the checkpoint is read in the prefix directory
	mark    bool       // the index lists the checkpoint, and another one is current
}

// newest finds the newest whole checkpoint to restart from. If it is not in the caches, newest fetches it. If below is set, the
// number of the checkpoint must be lower than below. Collective.
func (fe *fetcher) newest(ctx context.Context, below int) (*offer, error) {
	tried := map[string]bool{}
	for {
		d := fe.cache.newest()
		e, ok, mark, err := fe.candidate(ctx, d, tried, below)
		if err != nil {
			return nil, err
		}
		if !ok {
			if d == nil {
				return &offer{}, nil
			}
			if fe.p.global || fe.p.fetchBypass {
				// Open has flushed the checkpoint. If it is still not in the prefix directory, use the caches.
				fe.warn("scr: the checkpoint is not in the prefix directory; restarting from the cache", "name", d.Dataset.Name)
			}
			return &offer{Restart: Restart{ID: d.ID, Ckpt: d.Dataset.Ckpt, Name: d.Dataset.Name, Ranks: fe.c.Size()}, set: d, mark: mark}, nil
		}
		tried[e.Name], below = true, e.ID
		o, err := fe.fetch(ctx, e)
		if err == nil {
			o.mark = mark
			return o, nil
		}
		if fatal(ctx, err) {
			return nil, err
		}
		fe.warn("scr: a checkpoint cannot be fetched", "name", e.Name, "err", err)
	}
}

// candidate returns the next checkpoint in the prefix directory to try. It is newer than all cached checkpoints, unless the restart
// must use the prefix directory. If below is set, its number is lower than below. If the caches should be used, ok is false. mark
// is set if the index must be changed when the run continues from the checkpoint. All ranks get the same result.
func (fe *fetcher) candidate(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (e prefixdir.Entry, ok, mark bool, err error) {
	var t *kvtree.Tree
	if fe.c.Rank() == 0 {
		t = kvtree.New()
		if fe.p.fetch || fe.p.global || fe.p.fetchBypass {
			e, ok, mark, err = fe.index.choose(ctx, d, tried, below)
		} else if d != nil {
			mark, err = fe.index.isOther(d.Dataset.Name)
		}
		if ok {
			t.SetAt(e.Dataset.Tree(), "DSET")
			t.Value("NAME").SetStr(e.Name)
			t.Value("ID").SetInt(e.ID)
		}
		record.SetBool(t, keyMark, mark)
	}
	if t, err = fe.bcast(ctx, t, err); err != nil {
		return e, false, false, fmt.Errorf("index: %w", err)
	}
	f := record.Fields{Tree: t}
	if mark = f.Bool(keyMark); !t.Has("ID") {
		return e, false, mark, f.Err()
	}
	e, err = parseEntry(t)
	return e, err == nil, mark, err
}

const keyMark = "MARK" // of a message of candidate

// bcast returns the tree of rank 0 on all ranks. A rank that has failed passes its error in err. Then all ranks get an error.
func (fe *fetcher) bcast(ctx context.Context, t *kvtree.Tree, err error) (*kvtree.Tree, error) {
	var b []byte
	if err == nil && fe.c.Rank() == 0 {
		b, err = kvtree.Pack(t)
	}
	if err != nil {
		b = nil // the other ranks get the error when all agree
	}
	b, cerr := fe.c.Bcast(ctx, 0, b)
	if cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if len(b) > 0 && fe.c.Rank() != 0 && err == nil {
		t, err = kvtree.Unpack(b, nil)
	}
	return t, comm.Agree(ctx, fe.c, err)
}

// parseEntry parses an index entry that candidate has sent.
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
