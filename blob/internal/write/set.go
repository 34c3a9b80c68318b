package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
	"context"
	"math"
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
