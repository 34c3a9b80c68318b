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
	set := subfile.SetBase(w.Base, w.Sets)
	if w.C.Rank() == 0 {
		err = w.Vacant(set)
	}
	w.Info.Rename = true
	if err = w.MakeFiles(ctx, set, err); err != nil {
		w.Fail(err)
		return err
	}
	if err = w.complete(ctx, records); err != nil {
		return err
	}
	all, broken, err := w.seal(ctx, records)
	if broken != nil {
		w.Fail(broken)
		return broken
	}
	if err := w.lastCall(ctx, w.Ten.Explain(err)); err != nil {
		return err
	}
	var part func() error
	if w.C.Rank() == 0 {
		part = func() error {
			subs, err := w.subfiles(all)
			if err == nil {
				err = w.log.Check()
			}
			if err == nil {
				err = w.nameSet(set)
			}
			if err != nil {
				return err
			}
			s := w.newSet(records, subs)
			return w.addEntry(&subfile.Entry{Records: records, Sets: []subfile.SetInfo{s}, Atts: w.atts, Held: w.Held.Info()})
		}
	}
	outcome, err := verdict.Commit(ctx, w.C, part)
	w.MayBeInForce = outcome != verdict.NotDone
	if err = w.judged(outcome, err); err != nil {
		return err
	}
	w.MayBeInForce, w.named, w.atts = false, false, nil
	w.Commits++
	w.Sets++
	return w.Unfinished(w.nextSet(ctx, records))
}

// nameSet gives the subfiles of a set their final names, on world rank 0.
func (w *Writer) nameSet(set string) error {
	if err := w.Ten.Check(); err != nil {
		return err
	}
	w.named = true
	return durable.RenameAll(w.Opt.Fs, func(yield func(from, to string) bool) {
		for i := range w.Info.Subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, w.Ten.Tag()), name) {
				return
			}
		}
	}, w.Opt.Durability == dataset.DurableCommit)
}

// nextSet gets ready for the set after one that is committed: it has record variables only. Collective.
func (w *Writer) nextSet(ctx context.Context, records int64) (err error) {
	w.Sealed, w.placed = records, false
	s := w.Schema.RecordsOnly()
	var was []int32 // by variable in the set before: its number in this one
	if w.Ids == nil {
		w.Ids = RecordIDs(w.Schema)
		was = w.Ids
		for k := range w.pending { // put since CommitAsync
			w.pending[k].V = was[w.pending[k].V]
		}
		for k := range w.seen {
			w.seen[k].V = was[w.seen[k].V]
		}
		for k := range w.parts {
			w.parts[k].V = was[w.parts[k].V]
		}
	}
	if w.Lead {
		err = w.Eng.Renew(s, was, records)
	}
	if err = comm.Agree(ctx, w.C, err); err != nil {
		w.Fail(err)
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
