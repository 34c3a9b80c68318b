package blob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/internal/base/crccat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// commit makes the dataset whole: every subfile complete and synced, then the
// manifest, which world rank 0 gets. See the package subfile for the states on the way. Collective.
func (w *Writer) commit(ctx context.Context, records int64) (*subfile.Manifest, error) {
	all, broken, err := w.seal(ctx, records)
	if w.committed = broken != nil && w.going && w.c.Rank() != 0; w.committed { // rank 0 may have heard everybody
		broken = &InDoubtError{w.base, broken}
	}
	if broken != nil {
		w.fail(broken)
		return nil, broken
	}
	if !w.going { // else rank 0 learns of errors with what it is told, and all ranks with the verdict
		if err := w.lastCall(ctx, err); err != nil {
			return nil, err
		}
	}
	return w.putInForce(ctx, all, records)
}

// putInForce writes the manifest and finishes the commit. Collective.
func (w *Writer) putInForce(ctx context.Context, all [][]byte, records int64) (*subfile.Manifest, error) {
	sync := w.opt.Durability == DurableCommit
	m, finished, err := w.record(ctx, all, records, sync)
	if err != nil {
		w.fail(err)
		return nil, err
	}
	w.atts = nil
	// From here on the new dataset is the one that is read, whatever fails.
	if finished {
		return m, nil
	}
	if w.inPlace {
		if w.lead && w.eng.table.ID[0] == 0 {
			err = w.eng.moveRecords(records, w.opt.Durability != DurableNone)
			if cerr := w.eng.proc.pool.CloseFile(w.eng.name); err == nil {
				err = cerr
			}
		}
		if err := comm.Agree(ctx, w.c, w.unfinished(err)); err != nil {
			return nil, w.unfinished(err)
		}
	}
	if !w.going {
		err = w.ten.leave() // this rank touches no file any more
	}
	switch {
	case w.late != nil: // tried already
		err = w.late
	case w.c.Rank() == 0 && err == nil:
		err = w.finish(m, sync)
	}
	return m, w.unfinished(comm.Agree(ctx, w.c, w.unfinished(err)))
}

// finish gives everything that is in force its final name, on world rank 0.
func (w *Writer) finish(m *subfile.Manifest, sync bool) error {
	err := subfile.Finish(w.opt.fs, w.base, m, sync, w.ten.by())
	if err == nil && w.info.replace {
		err = subfile.RemoveStale(w.opt.fs, w.base, m, w.ten.by(), w.info.replaced)
	}
	if err == nil {
		err = w.ten.lease.Settle() // a former writer's files are gone
	}
	return err
}

// unfinished says of an error behind the commit what it means, before ranks agree on it, and again for those that only get its text.
func (w *Writer) unfinished(err error) error {
	if err == nil || errors.As(err, new(*UnfinishedError)) {
		return err
	}
	return &UnfinishedError{w.base, err}
}

// inDoubt says of an error that the commit may be in force.
func (w *Writer) inDoubt(err error) error {
	if errors.As(err, new(*InDoubtError)) {
		return err
	}
	return &InDoubtError{w.base, err}
}

// judged ends a step of the commit that only world rank 0 makes: an error ends the writer, and says if the step may be in force all the same.
func (w *Writer) judged(outcome verdict.Outcome, err error) error {
	if outcome == verdict.InDoubt {
		err = w.inDoubt(err)
	}
	if err != nil {
		w.fail(err)
	}
	return err
}

// lastCall is the guard before the record is written. If it is the agreement
// itself that breaks, rank 0 may have heard that all is well and write the record, so
// the other ranks leave their files; the next writer finds out.
func (w *Writer) lastCall(ctx context.Context, err error) error {
	v, agreed := comm.AgreeMin(ctx, w.c, err, 0)
	if agreed == nil {
		return nil
	}
	if w.committed = w.c.Rank() != 0 && v == nil && err == nil; w.committed {
		agreed = &InDoubtError{w.base, agreed}
	}
	w.fail(agreed)
	return agreed
}

// record writes the prepared manifest; the error is agreed. If that fails the record is taken back;
// where even this fails it may be on disk or not, so no rank removes anything,
// and the next writer finds out. Of a writer that goes on it is finished in the same step: the number of
// records in files that grow is set behind it, as by later commits.
func (w *Writer) record(ctx context.Context, all [][]byte, records int64, sync bool) (m *subfile.Manifest, finished bool, err error) {
	var part func() error
	atOnce, done := w.going, int64(1)
	if w.c.Rank() == 0 {
		part = func() error {
			var err error
			m, err = w.manifest(all, records)
			if err == nil && w.going {
				err = w.goOn()
			}
			if err != nil { // of any rank: no seal was written
				return w.ten.explain(err)
			}
			if err = w.writeNext(m, sync); err == nil && atOnce {
				if w.late = w.finish(m, sync); w.late != nil {
					done = 0
				}
			}
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, w.c, part, func() []int64 { return []int64{done} })
	w.committed = outcome != verdict.NotDone
	if outcome == verdict.InDoubt {
		err = w.inDoubt(err)
	}
	return m, err == nil && atOnce && v[0] == 1, err
}

// writeNext writes the prepared manifest. If that fails it is taken back; where even this fails it is not known what is there.
func (w *Writer) writeNext(m *subfile.Manifest, sync bool) error {
	err := subfile.WriteNext(w.opt.fs, w.base, m, sync, w.ten.byIf(w.mayCommit))
	never := errors.Is(err, ErrInUse) // the check said so, so it has not got its name, and what is there may be the commit of who has taken over
	if err = w.ten.explain(err); err == nil || never || w.soft && vfs.Full(err) && w.announced() {
		return err
	}
	if rerr := subfile.DropNext(w.opt.fs, w.base, w.ten.tag()); rerr != nil {
		return &InDoubtError{w.base, errors.Join(err, rerr)}
	}
	return err
}

// mayCommit compares who holds the dataset, and what is in force, with what was when the writer began.
func (w *Writer) mayCommit() error {
	if err := w.ten.check(); err != nil {
		return err
	}
	if id, _, err := subfile.Peek(w.opt.fs, w.base); err != nil || id == w.info.was {
		return err
	}
	return fmt.Errorf("%s: another program has replaced the dataset, or renamed it, while it was being written: %w", w.base, ErrInUse)
}

// subfiles puts the subfiles' descriptions together, on world rank 0.
func (w *Writer) subfiles(all [][]byte) ([]subfile.Subfile, error) {
	subs := make([]subfile.Subfile, w.info.subfiles)
	prints := make([]int64, len(w.schema.decomps))
	seen := 0
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var d described
		if err := json.Unmarshal(b, &d); err != nil || len(d.Prints) > len(prints) {
			return nil, fmt.Errorf("description of the subfile of rank %d: %w", r, err)
		}
		if d.Err != nil {
			return nil, comm.MetBy(w.c, d.Rank, comm.DecodeError(d.Err))
		}
		for k, v := range d.Prints {
			prints[k] += v
		}
		// Subfiles are numbered by their first rank, except round robin; both come in that order.
		if seen < len(subs) {
			subs[seen] = *d.Subfile
		}
		seen++
	}
	if seen != w.info.subfiles {
		return nil, fmt.Errorf("%d subfiles described, want %d", seen, w.info.subfiles)
	}
	if w.info.old == nil {
		w.info.prints = printTexts(prints)
	}
	return subs, nil
}

// manifest describes the dataset, on world rank 0.
func (w *Writer) manifest(all [][]byte, records int64) (*subfile.Manifest, error) {
	if all == nil { // attributes only
		m := w.head(records)
		m.Sets, m.Piece = w.info.old.Sets, w.info.old.Piece
		return m, nil
	}
	subs, err := w.subfiles(all)
	if err != nil {
		return nil, err
	}
	if w.inPlace {
		return w.grownManifest(records, subs)
	}
	return w.newManifest(records, subs), nil
}

// head is a manifest without sets.
func (w *Writer) head(records int64) *subfile.Manifest {
	m := &subfile.Manifest{Prepared: true, ID: durable.NewID(), Writer: w.ten.tag(), Layout: w.opt.Layout.String(), Base: filepath.Base(w.base),
		Records: records, Ranks: w.info.ranks, Maps: w.info.prints}
	if w.opt.Compress.on() {
		m.Codec = manifestCodec
	}
	if old := w.info.old; old != nil {
		if old.Codec != "" {
			m.Codec = old.Codec
		}
		m.ID, m.Unverified, m.Ranks, m.Maps = old.ID, old.Unverified, old.Ranks, old.Maps
		m.Atts = slices.Clone(old.Atts)
	}
	m.AddAtts(w.atts)
	if w.going {
		m.Log, m.Commits, m.Held = w.ten.tag(), 1, w.held.info()
	}
	return m
}

// grownManifest describes a dataset to whose subfiles this session has added.
func (w *Writer) grownManifest(records int64, subs []subfile.Subfile) (*subfile.Manifest, error) {
	m := w.info.old.Clone()
	if m.Piece == 0 {
		m.Piece = w.opt.piece
	}
	e := &subfile.Entry{ID: m.ID, Commit: m.Commits + 1, Records: records}
	for k := range subs {
		e.Subfiles = append(e.Subfiles, subfile.Growth{Size: subs[k].Size, Extents: subs[k].Extents, Pieces: subs[k].Pieces})
	}
	if err := m.Apply(e); err != nil {
		return nil, err
	}
	h := w.head(records)
	h.Sets = m.Sets
	limitPieces(h, w.opt.piece)
	return h, nil
}

// newManifest describes the dataset with the subfiles of this session, a set.
func (w *Writer) newManifest(records int64, subs []subfile.Subfile) *subfile.Manifest {
	m := w.head(records)
	if w.info.old != nil {
		m.Sets = append(m.Sets, w.info.old.Sets...)
	}
	m.Sets = append(m.Sets, w.newSet(records, subs))
	limitPieces(m, w.opt.piece)
	return m
}

// newSet describes the subfiles of this session, or of one commit of it.
func (w *Writer) newSet(records int64, subs []subfile.Subfile) subfile.SetInfo {
	s := subfile.SetInfo{Base: filepath.Base(w.base), Records: records, Subfiles: subs}
	if w.sets > 0 {
		s.Base = filepath.Base(subfile.SetBase(w.base, w.sets))
		s.First, s.Records = w.sealed, records-w.sealed
	}
	if old := w.info.old; old != nil && !(old.Ranks == w.info.ranks && slices.Equal(old.Maps, w.info.prints)) {
		s.Ranks, s.Maps = w.info.ranks, w.info.prints
	}
	s.Added = w.info.added
	if w.going && w.limit > records && w.opt.Records > 0 {
		s.Room = w.limit - s.First
	}
	return s
}

// intent is the unprepared manifest that announces a writer.
func (w *Writer) intent() *subfile.Manifest {
	set := subfile.SetBase(w.base, w.sets)
	return &subfile.Manifest{ID: durable.NewID(), Writer: w.ten.tag(), Finals: !w.info.rename, Layout: w.opt.Layout.String(), Base: filepath.Base(w.base), Ranks: w.info.ranks,
		Sets: []subfile.SetInfo{{Base: filepath.Base(set), Subfiles: make([]subfile.Subfile, w.info.subfiles)}}}
}

// abandon removes what this rank made: the partial subfile, and on world rank
// 0 the announcement. Committed files are not touched. It reports nothing: it
// runs after an error that is reported.
func (w *Writer) abandon() {
	defer w.ten.release()
	if w.eng == nil {
		return
	}
	w.eng.ground()
	_ = w.log.Close()
	if w.committed {
		return
	}
	if w.commits > 0 { // what is committed stays; a set that is not has partial names
		if w.lead && isPartial(w.eng.name) {
			w.removeMade()
		}
		return
	}
	if w.log != nil { // a name that nobody else has
		_ = w.opt.fs.Remove(subfile.LogName(w.base, w.ten.tag()))
	}
	w.removeMade()
	if w.c.Rank() != 0 || !w.claimed || w.info.foreign {
		return
	}
	if w.files != filesNone && !w.info.rename && !w.removeFinals() {
		return
	}
	if errors.Is(w.ten.check(), ErrInUse) { // it is gone, and another's may be there
		return
	}
	_ = subfile.DropNext(w.opt.fs, w.base, w.ten.tag())
}

// removeMade removes the subfile that this process created.
func (w *Writer) removeMade() {
	if !w.lead {
		return
	}
	e := w.eng
	e.proc.pool.CloseFile(e.name)
	if e.made && (isPartial(e.name) || w.ten.check() == nil) { // under a final name there may be the file of who has taken over
		_ = w.opt.fs.Remove(e.name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it says whether they are gone for good.
func (w *Writer) removeFinals() bool {
	if w.files != filesAll || w.ten.check() != nil {
		return false // other ranks may still be creating them, or they are another writer's
	}
	for i := range w.info.subfiles {
		if err := w.opt.fs.Remove(subfile.Name(w.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return w.opt.fs.SyncDir(subfile.Dir(w.base)) == nil
}

// limitPieces completes a manifest whose last set may have checksums of pieces of so many bytes.
func limitPieces(m *subfile.Manifest, size int64) {
	n := 0
	for i := range m.Sets {
		for k := range m.Sets[i].Subfiles {
			n += len(m.Sets[i].Subfiles[k].Pieces)
		}
	}
	if n > crccat.MaxPieces {
		subs := m.Sets[len(m.Sets)-1].Subfiles
		for k := range subs {
			n -= len(subs[k].Pieces)
			subs[k].Pieces = nil
		}
	}
	if n > 0 || m.Log != "" && m.Codec == "" {
		m.Piece = size
	}
}
