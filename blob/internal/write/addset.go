package write

import (
	"context"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// addSet commits what was kept of records below that number as a further set of subfiles. They are written under partial names and get their final
// ones before the entry: until that is in force they are of no committed state, and the next writer removes them. Collective.
func (w *Writer) addSet(ctx context.Context, records int64) error {
	var err error
	set := subfile.SetBase(w.Job.Base, w.Commits.Sets)
	if w.Job.C.Rank() == 0 {
		err = w.Claim.Vacant(set)
	}
	w.Claim.Rename = true
	if err = w.Files.Make(ctx, set, err); err != nil {
		w.State.Fail(err)
		return err
	}
	if err = w.complete(ctx, records); err != nil {
		return err
	}
	all, broken, err := w.Commits.seal(ctx, records)
	if broken != nil {
		w.State.Fail(broken)
		return broken
	}
	if err := w.State.lastCall(ctx, w.Job.Ten.Explain(err)); err != nil {
		return err
	}
	var part func() error
	if w.Job.C.Rank() == 0 {
		part = func() error {
			subs, err := w.Commits.subfiles(all)
			if err == nil {
				err = w.Commits.log.Check()
			}
			if err == nil {
				err = w.Files.nameSet(set)
			}
			if err != nil {
				return err
			}
			s := w.Commits.newSet(records, subs)
			return w.Commits.addEntry(&subfile.Entry{Records: records, Sets: []subfile.SetInfo{s}, Atts: w.Commits.atts, Held: w.Held.Last.Info()})
		}
	}
	outcome, err := verdict.Commit(ctx, w.Job.C, part)
	w.Commits.MayBeInForce = outcome != verdict.NotDone
	if err = w.State.judged(outcome, err); err != nil {
		return err
	}
	w.Commits.MayBeInForce, w.Files.named, w.Commits.atts = false, false, nil
	w.Commits.Count++
	w.Commits.Sets++
	return w.Job.Unfinished(w.nextSet(ctx, records))
}

// nameSet gives the subfiles of a set their final names, on world rank 0.
func (s *files) nameSet(set string) error {
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	s.named = true
	return durable.RenameAll(s.job.Opt.Fs, func(yield func(from, to string) bool) {
		for i := range s.job.Subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, s.job.Ten.Tag()), name) {
				return
			}
		}
	}, s.job.Opt.Durability == dataset.DurableCommit)
}

// nextSet gets ready for the set after one that is committed: it has record variables only. Collective.
func (w *Writer) nextSet(ctx context.Context, records int64) (err error) {
	w.Commits.Sealed, w.Files.placed = records, false
	s := w.Job.Schema.RecordsOnly()
	var was []int32 // by variable in the set before: its number in this one
	if w.Puts.Ids == nil {
		w.Puts.Ids = RecordIDs(w.Job.Schema)
		was = w.Puts.Ids
		for k := range w.Puts.list { // put since CommitAsync
			w.Puts.list[k].V = was[w.Puts.list[k].V]
		}
		for k := range w.Puts.seen {
			w.Puts.seen[k].V = was[w.Puts.seen[k].V]
		}
		for k := range w.Puts.parts {
			w.Puts.parts[k].V = was[w.Puts.parts[k].V]
		}
	}
	if w.Job.Lead {
		err = w.Job.Eng.Renew(s, was, records)
	}
	if err = comm.Agree(ctx, w.Job.C, err); err != nil {
		w.State.Fail(err)
	}
	return err
}

// RecordIDs are the numbers that the variables have in recordsOnly.
func RecordIDs(s *dataset.Schema) []int32 {
	ids := make([]int32, len(s.Vars))
	n := int32(0)
	for v := range s.Vars {
		if ids[v] = n; s.Vars[v].Record {
			n++
		} else {
			ids[v] = noVariable
		}
	}
	return ids
}

// noVariable is the number of a fixed variable where there are none any more: nothing can be put to it.
const noVariable = math.MinInt32

// Renew makes the engine that of another file, of a set that begins with that record. What is kept stays. was has the new number of each variable, nil: the
// same.
func (e *Engine) Renew(s *dataset.Schema, was []int32, first int64) error {
	if was != nil {
		e.Kept.renumber(was)
	}
	l, f, sh := e.Layout, e.File, *e.Layout.Place.Shape
	l.Schema, l.Base, l.First, l.MapsOut, l.meta = s, first, first, false, nil
	if err := l.begin(e.opt, &sh); err != nil {
		return err
	}
	f.Name, f.Final, f.Made, f.End = "", "", false, 0
	f.wrote.Store(false)
	e.background.unsynced.Store(0)
	e.start()
	e.Kept.note()
	return nil
}
