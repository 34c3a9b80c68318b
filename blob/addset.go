package blob

import (
	"context"
	"math"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// addSet commits what was kept of records below that number as a further set of subfiles. They are written under partial names and get their final
// ones before the entry: until that is in force they are of no committed state, and the next writer removes them. Collective.
func (w *Writer) addSet(ctx context.Context, records int64) error {
	var err error
	set := subfile.SetBase(w.base, w.sets)
	if w.c.Rank() == 0 {
		err = w.vacant(set)
	}
	w.info.rename = true
	if err = w.makeFiles(ctx, set, err); err != nil {
		w.fail(err)
		return err
	}
	if err = w.complete(ctx, records); err != nil {
		return err
	}
	all, broken, err := w.seal(ctx, records)
	if broken != nil {
		w.fail(broken)
		return broken
	}
	if err := w.lastCall(ctx, w.ten.explain(err)); err != nil {
		return err
	}
	var part func() error
	if w.c.Rank() == 0 {
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
			return w.addEntry(&subfile.Entry{Records: records, Sets: []subfile.SetInfo{s}, Atts: w.atts, Held: w.held.info()})
		}
	}
	outcome, err := verdict.Commit(ctx, w.c, part)
	w.committed = outcome != verdict.NotDone
	if err = w.judged(outcome, err); err != nil {
		return err
	}
	w.committed, w.named, w.atts = false, false, nil
	w.commits++
	w.sets++
	return w.unfinished(w.nextSet(ctx, records))
}

// nameSet gives the subfiles of a set their final names, on world rank 0.
func (w *Writer) nameSet(set string) error {
	if err := w.ten.check(); err != nil {
		return err
	}
	w.named = true
	return durable.RenameAll(w.opt.fs, func(yield func(from, to string) bool) {
		for i := range w.info.subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, w.ten.tag()), name) {
				return
			}
		}
	}, w.opt.Durability == DurableCommit)
}

// nextSet gets ready for the set after one that is committed: it has record variables only. Collective.
func (w *Writer) nextSet(ctx context.Context, records int64) (err error) {
	w.sealed, w.placed = records, false
	s := w.schema.recordsOnly()
	var was []int32 // by variable in the set before: its number in this one
	if w.ids == nil {
		w.ids = recordIDs(w.schema)
		was = w.ids
		for k := range w.pending { // put since CommitAsync
			w.pending[k].v = was[w.pending[k].v]
		}
		for k := range w.seen {
			w.seen[k].v = was[w.seen[k].v]
		}
		for k := range w.parts {
			w.parts[k].v = was[w.parts[k].v]
		}
	}
	if w.lead {
		err = w.eng.renew(s, was, records)
	}
	if err = comm.Agree(ctx, w.c, err); err != nil {
		w.fail(err)
	}
	return err
}

// recordIDs are the numbers that the variables have in recordsOnly.
func recordIDs(s *Schema) []int32 {
	ids := make([]int32, len(s.vars))
	n := int32(0)
	for v := range s.vars {
		if ids[v] = n; s.vars[v].Record {
			n++
		} else {
			ids[v] = noVariable
		}
	}
	return ids
}

// noVariable is the number of a fixed variable where there are none any more: nothing can be put to it.
const noVariable = math.MinInt32

// renew makes the engine that of another file, of a set that begins with that record. What is kept stays. was has the new number of each variable, nil: the
// same.
func (e *engine) renew(s *Schema, was []int32, first int64) error {
	for i := range e.kept {
		for k := range e.kept[i] {
			if p := &e.kept[i][k]; was != nil {
				p.v = was[p.v]
			}
		}
	}
	sh := *e.place.Shape
	e.schema, e.pack = s, newPacker(&e.opt, s)
	hdr := s.blobHeader(&sh)
	if err := hdr.Layout(nil); err != nil {
		return err
	}
	e.place = newPlace(e.opt.Layout, e.pack != nil, 0)
	e.place.setHeader(hdr, hdr.EncodedLen(), s, &sh)
	e.name, e.final, e.made, e.base, e.first = "", "", false, first, first
	e.mapsOut, e.end, e.meta = false, 0, nil
	e.wrote.Store(false)
	e.unsynced.Store(0)
	e.init()
	e.noteKept()
	return nil
}
