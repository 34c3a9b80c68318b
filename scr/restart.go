package scr

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"

	"blobio/kvtree"
	"blobio/scr/cachedir"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// Restart is a checkpoint that the application may restart from.
type Restart struct {
	ID    int
	Ckpt  int
	Name  string
	Ranks int // of the run that wrote it
	// InPlace: the files are read where they are in the prefix directory, and each rank may read those of all; see
	// Owned. Otherwise each rank reads its own.
	InPlace bool
}

// offer is the checkpoint that HaveRestart found.
type offer struct {
	Restart
	set   *cachedSet // in the caches
	place *inPlace   // in the prefix directory
	entry prefixdir.Entry
}

// restoring is the checkpoint between StartRestart and CompleteRestart.
type restoring struct{ *offer }

// scratchPrefix begins the names of the folders for what a restart has to unpack, in the control directory.
const scratchPrefix = "restart."

func (s *Session) scratch(rank int) string {
	return path.Join(s.p.control, scratchPrefix+strconv.Itoa(rank))
}

// clearScratch removes such a folder.
func (s *Session) clearScratch(dir string) {
	if err := cachedir.RemoveAll(s.fs, dir); err != nil {
		s.log.Warn("scr: delete", "folder", dir, "err", err)
	}
}

// leftScratch removes those that killed runs have left on this node. Its first rank calls it.
func (s *Session) leftScratch() {
	list, err := s.fs.ReadDir(s.p.control)
	if err != nil {
		return // what is wrong there others will tell
	}
	for _, e := range list {
		if rank, ok := strings.CutPrefix(e.Name(), scratchPrefix); ok && e.IsDir() {
			if _, err := strconv.ParseUint(rank, 10, 31); err == nil {
				s.clearScratch(path.Join(s.p.control, e.Name()))
			}
		}
	}
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
	tried, below := map[string]bool{}, s.below
	for {
		d := s.newest()
		e, ok, err := s.candidate(ctx, d, tried, below)
		if err != nil {
			return Restart{}, false, err
		}
		if !ok {
			if d == nil {
				return Restart{}, false, nil
			}
			if s.p.global || s.p.fetchBypass {
				// It was flushed by Open; if that is not where it is, the caches serve.
				s.warn("scr: the checkpoint is not in the prefix directory; restarting from the cache", "name", d.Dataset.Name)
			}
			s.offer = &offer{Restart: Restart{ID: d.ID, Ckpt: d.Dataset.Ckpt, Name: d.Dataset.Name, Ranks: s.c.Size()}, set: d}
			return s.offer.Restart, true, nil
		}
		tried[e.Name], below = true, e.ID
		o, err := s.fetch(ctx, e)
		if err != nil {
			if fatal(ctx, err) {
				return Restart{}, false, err
			}
			s.warn("scr: checkpoint cannot be fetched", "name", e.Name, "err", err)
			continue
		}
		s.offer = o
		return o.Restart, true, nil
	}
}

// candidate is the next checkpoint of the prefix directory to try: newer than what the caches hold, or anything if
// the restart is to be from there; with below one of a lower number. The same on all ranks; ok is false if the caches are to serve.
func (s *Session) candidate(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (prefixdir.Entry, bool, error) {
	var e prefixdir.Entry
	found := false
	var err error
	if s.c.Rank() == 0 && (s.p.fetch || s.p.global || s.p.fetchBypass) {
		e, found, err = s.choose(ctx, d, tried, below)
	}
	if err := s.agree(ctx, err); err != nil {
		return e, false, pkg.Errorf("index: %w", err)
	}
	if found, err = s.flag(ctx, found); err != nil || !found {
		return e, false, err
	}
	var b []byte
	if s.c.Rank() == 0 {
		t := kvtree.New()
		t.SetAt(e.Dataset.Tree(), "DSET")
		t.SetStr("NAME", e.Name)
		t.SetInt("ID", e.ID)
		b, err = t.Pack()
	}
	if err := s.agree(ctx, err); err != nil {
		return e, false, err
	}
	if b, err = s.c.Bcast(ctx, 0, b); err != nil {
		return e, false, err
	}
	if s.c.Rank() != 0 {
		e, err = parseEntry(b)
	}
	err = s.agree(ctx, err)
	return e, err == nil, err
}

// parseEntry reads what candidate sends.
func parseEntry(b []byte) (e prefixdir.Entry, err error) {
	t, err := kvtree.Unpack(b, nil)
	if err != nil {
		return e, err
	}
	if e.Name, err = t.Str("NAME"); err != nil {
		return e, err
	}
	if e.ID, err = t.Int("ID"); err != nil {
		return e, err
	}
	e.Dataset, err = record.ParseDataset(t.Get("DSET"), "")
	return e, err
}

func (s *Session) choose(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (prefixdir.Entry, bool, error) {
	x, rebuilt, found, err := s.prefix.LoadIndex()
	if err != nil {
		return prefixdir.Entry{}, false, err
	}
	if rebuilt && len(found) > 0 {
		s.log.Warn("scr: the index was lost or damaged and is made again from the summaries")
		if err := s.prefix.UpdateIndex(ctx, func(*prefixdir.Index) error { return nil }); err != nil {
			return prefixdir.Entry{}, false, err
		}
		if x, _, _, err = s.prefix.LoadIndex(); err != nil {
			return prefixdir.Entry{}, false, err
		}
	}
	if s.p.current != "" && !tried["\x00"] {
		tried["\x00"] = true // once
		if _, ok := x.Entry(s.p.current); ok {
			if err := x.SetCurrent(s.p.current); err != nil {
				return prefixdir.Entry{}, false, err
			}
		} else {
			s.log.Warn("scr: SCR_CURRENT is not in the index", "name", s.p.current)
		}
	}
	for _, e := range x.Candidates() {
		if tried[e.Name] || below > 0 && e.ID >= below {
			continue // what is newer than the current one, which failed, somebody has given up
		}
		if d != nil && e.ID < d.ID {
			return e, false, nil
		}
		if d != nil && e.ID == d.ID && !s.p.global && !s.p.fetchBypass {
			return e, false, nil
		}
		return e, true, nil
	}
	return prefixdir.Entry{}, false, nil
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
	s.restart, s.offer, s.state = &restoring{s.offer}, nil, Restoring
	return r, nil
}

// CompleteRestart ends the reading; a collective: valid says whether this rank could use its files. If all could, the
// run goes on from there. If not, the checkpoint is marked as failed and deleted from the caches, and the error is
// ErrInvalid on all ranks; HaveRestart then offers an older one.
func (s *Session) CompleteRestart(ctx context.Context, valid bool) error {
	if err := s.need("CompleteRestart", Restoring); err != nil {
		return err
	}
	r := s.restart
	s.restart, s.state = nil, Idle
	s.clearScratch(s.scratch(s.c.Rank()))
	verdict, err := s.unanimous(ctx, valid, "restart from "+r.Name)
	if err != nil {
		return err
	}
	refused := r.set
	if verdict != nil {
		s.below = r.ID
		if d := s.find(r.Name); refused == nil && d != nil && d.ID == r.ID {
			refused = d // it was read in the prefix directory; the caches have the same bytes
		}
		if refused != nil { // its flush would make it current
			if err := s.async.abandon(ctx, refused); err != nil {
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
		err = s.noteRestart(ctx, r.Name, verdict == nil)
	}
	if err := s.agree(ctx, err); err != nil {
		if verdict == nil || fatal(ctx, err) {
			return err
		}
		verdict = errors.Join(verdict, err) // what is offered next is older, whether or not this one is marked
	}
	if verdict == nil {
		s.computed = s.cfg.Clock()
		return s.outdated(ctx, r.ID)
	}
	if refused != nil {
		return errors.Join(verdict, s.drop(ctx, refused))
	}
	return verdict
}

// outdated deletes the datasets of the caches that are newer than the one that the run goes on from: what it will write
// has their names.
func (s *Session) outdated(ctx context.Context, id int) error {
	for _, d := range append([]*cachedSet(nil), s.cached...) {
		if d.ID > id && d.Dataset.Checkpoint {
			if err := s.drop(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteRestart tells the index. Rank 0.
func (s *Session) noteRestart(ctx context.Context, name string, ok bool) error {
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	if _, in := x.Entry(name); !in {
		return nil
	}
	return s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error {
		if ok {
			return x.SetCurrent(name)
		}
		if x.Current() == name {
			if err := x.SetCurrent(""); err != nil {
				return err
			}
		}
		return x.MarkFailed(name, s.cfg.Clock())
	})
}
