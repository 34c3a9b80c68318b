package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/blob/internal/dataset"
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
	if w.MayBeInForce = broken != nil && w.going && w.C.Rank() != 0; w.MayBeInForce { // rank 0 may have heard everybody
		broken = &dataset.InDoubtError{Base: w.Base, Err: broken}
	}
	if broken != nil {
		w.Fail(broken)
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
	sync := w.Opt.Durability == dataset.DurableCommit
	m, finished, err := w.record(ctx, all, records, sync)
	if err != nil {
		w.Fail(err)
		return nil, err
	}
	w.atts = nil
	// From here on the new dataset is the one that is read, whatever fails.
	if finished {
		return m, nil
	}
	if w.InPlace {
		if w.Lead && w.Eng.Layout.Table.ID[0] == 0 {
			err = w.Eng.Seal.MoveRecords(records, w.Opt.Durability != dataset.DurableNone)
			if cerr := w.Eng.Proc.Pool.CloseFile(w.Eng.File.Name); err == nil {
				err = cerr
			}
		}
		if err := comm.Agree(ctx, w.C, w.Unfinished(err)); err != nil {
			return nil, w.Unfinished(err)
		}
	}
	if !w.going {
		err = w.Ten.Leave() // this rank touches no file any more
	}
	switch {
	case w.late != nil: // tried already
		err = w.late
	case w.C.Rank() == 0 && err == nil:
		err = w.Finish(m, sync)
	}
	return m, w.Unfinished(comm.Agree(ctx, w.C, w.Unfinished(err)))
}

// Finish gives everything that is in force its final name, on world rank 0.
func (w *Writer) Finish(m *subfile.Manifest, sync bool) error {
	err := subfile.Finish(w.Opt.Fs, w.Base, m, sync, w.Ten.By())
	if err == nil && w.Info.replace {
		err = subfile.RemoveStale(w.Opt.Fs, w.Base, m, w.Ten.By(), w.Info.replaced)
	}
	if err == nil {
		err = w.Ten.Lease.Settle() // a former writer's files are gone
	}
	return err
}

// Unfinished says of an error behind the commit what it means, before ranks agree on it, and again for those that only get its text.
func (w *Writer) Unfinished(err error) error {
	if err == nil || errors.As(err, new(*dataset.UnfinishedError)) {
		return err
	}
	return &dataset.UnfinishedError{Base: w.Base, Err: err}
}

// inDoubt says of an error that the commit may be in force.
func (w *Writer) inDoubt(err error) error {
	if errors.As(err, new(*dataset.InDoubtError)) {
		return err
	}
	return &dataset.InDoubtError{Base: w.Base, Err: err}
}

// judged ends a step of the commit that only world rank 0 makes: an error ends the writer, and says if the step may be in force all the same.
func (w *Writer) judged(outcome verdict.Outcome, err error) error {
	if outcome == verdict.InDoubt {
		err = w.inDoubt(err)
	}
	if err != nil {
		w.Fail(err)
	}
	return err
}

// lastCall is the guard before the record is written. If it is the agreement
// itself that breaks, rank 0 may have heard that all is well and write the record, so
// the other ranks leave their files; the next writer finds out.
func (w *Writer) lastCall(ctx context.Context, err error) error {
	v, agreed := comm.AgreeMin(ctx, w.C, err, 0)
	if agreed == nil {
		return nil
	}
	if w.MayBeInForce = w.C.Rank() != 0 && v == nil && err == nil; w.MayBeInForce {
		agreed = &dataset.InDoubtError{Base: w.Base, Err: agreed}
	}
	w.Fail(agreed)
	return agreed
}

// record writes the prepared manifest; the error is agreed. If that fails the record is taken back;
// where even this fails it may be on disk or not, so no rank removes anything,
// and the next writer finds out. Of a writer that goes on it is finished in the same step: the number of
// records in files that grow is set behind it, as by later commits.
func (w *Writer) record(ctx context.Context, all [][]byte, records int64, sync bool) (m *subfile.Manifest, finished bool, err error) {
	var part func() error
	atOnce, done := w.going, int64(1)
	if w.C.Rank() == 0 {
		part = func() error {
			var err error
			m, err = w.manifest(all, records)
			if err == nil && w.going {
				err = w.goOn()
			}
			if err != nil { // of any rank: no seal was written
				return w.Ten.Explain(err)
			}
			if err = w.WriteNext(m, sync); err == nil && atOnce {
				if w.late = w.Finish(m, sync); w.late != nil {
					done = 0
				}
			}
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, w.C, part, func() []int64 { return []int64{done} })
	w.MayBeInForce = outcome != verdict.NotDone
	if outcome == verdict.InDoubt {
		err = w.inDoubt(err)
	}
	return m, err == nil && atOnce && v[0] == 1, err
}

// WriteNext writes the prepared manifest. If that fails it is taken back; where even this fails it is not known what is there.
func (w *Writer) WriteNext(m *subfile.Manifest, sync bool) error {
	err := subfile.WriteNext(w.Opt.Fs, w.Base, m, sync, w.Ten.byIf(w.mayCommit))
	never := errors.Is(err, dataset.ErrInUse) // the check said so, so it has not got its name, and what is there may be the commit of who has taken over
	if err = w.Ten.Explain(err); err == nil || never || w.soft && vfs.Full(err) && w.announced() {
		return err
	}
	if rerr := subfile.DropNext(w.Opt.Fs, w.Base, w.Ten.Tag()); rerr != nil {
		return &dataset.InDoubtError{Base: w.Base, Err: errors.Join(err, rerr)}
	}
	return err
}

// mayCommit compares who holds the dataset, and what is in force, with what was when the writer began.
func (w *Writer) mayCommit() error {
	if err := w.Ten.Check(); err != nil {
		return err
	}
	if id, _, err := subfile.Peek(w.Opt.Fs, w.Base); err != nil || id == w.Info.Was {
		return err
	}
	return fmt.Errorf("%s: another program has replaced the dataset, or renamed it, while it was being written: %w", w.Base, dataset.ErrInUse)
}

// subfiles puts the subfiles' descriptions together, on world rank 0.
func (w *Writer) subfiles(all [][]byte) ([]subfile.Subfile, error) {
	subs := make([]subfile.Subfile, w.Info.Subfiles)
	prints := make([]int64, len(w.Schema.Decomps))
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
			return nil, comm.MetBy(w.C, d.Rank, comm.DecodeError(d.Err))
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
	if seen != w.Info.Subfiles {
		return nil, fmt.Errorf("%d subfiles described, want %d", seen, w.Info.Subfiles)
	}
	if w.Info.Old == nil {
		w.Info.Prints = dataset.PrintTexts(prints)
	}
	return subs, nil
}

// manifest describes the dataset, on world rank 0.
func (w *Writer) manifest(all [][]byte, records int64) (*subfile.Manifest, error) {
	if all == nil { // attributes only
		m := w.Head(records)
		m.Sets, m.Piece = w.Info.Old.Sets, w.Info.Old.Piece
		return m, nil
	}
	subs, err := w.subfiles(all)
	if err != nil {
		return nil, err
	}
	if w.InPlace {
		return w.grownManifest(records, subs)
	}
	return w.NewManifest(records, subs), nil
}

// Head is a manifest without sets.
func (w *Writer) Head(records int64) *subfile.Manifest {
	m := &subfile.Manifest{Prepared: true, ID: durable.NewID(), Writer: w.Ten.Tag(), Layout: w.Opt.Layout.String(), Base: filepath.Base(w.Base),
		Records: records, Ranks: w.Info.Ranks, Maps: w.Info.Prints}
	if w.Opt.Compress.On() {
		m.Codec = dataset.ManifestCodec
	}
	if old := w.Info.Old; old != nil {
		if old.Codec != "" {
			m.Codec = old.Codec
		}
		m.ID, m.Unverified, m.Ranks, m.Maps = old.ID, old.Unverified, old.Ranks, old.Maps
		m.Atts = slices.Clone(old.Atts)
	}
	m.AddAtts(w.atts)
	if w.going {
		m.Log, m.Commits, m.Held = w.Ten.Tag(), 1, w.Held.Info()
	}
	return m
}

// grownManifest describes a dataset to whose subfiles this session has added.
func (w *Writer) grownManifest(records int64, subs []subfile.Subfile) (*subfile.Manifest, error) {
	m := w.Info.Old.Clone()
	if m.Piece == 0 {
		m.Piece = w.Opt.Piece
	}
	e := &subfile.Entry{ID: m.ID, Commit: m.Commits + 1, Records: records}
	for k := range subs {
		e.Subfiles = append(e.Subfiles, subfile.Growth{Size: subs[k].Size, Extents: subs[k].Extents, Pieces: subs[k].Pieces})
	}
	if err := m.Apply(e); err != nil {
		return nil, err
	}
	h := w.Head(records)
	h.Sets = m.Sets
	LimitPieces(h, w.Opt.Piece)
	return h, nil
}

// NewManifest describes the dataset with the subfiles of this session, a set.
func (w *Writer) NewManifest(records int64, subs []subfile.Subfile) *subfile.Manifest {
	m := w.Head(records)
	if w.Info.Old != nil {
		m.Sets = append(m.Sets, w.Info.Old.Sets...)
	}
	m.Sets = append(m.Sets, w.newSet(records, subs))
	LimitPieces(m, w.Opt.Piece)
	return m
}

// newSet describes the subfiles of this session, or of one commit of it.
func (w *Writer) newSet(records int64, subs []subfile.Subfile) subfile.SetInfo {
	s := subfile.SetInfo{Base: filepath.Base(w.Base), Records: records, Subfiles: subs}
	if w.Sets > 0 {
		s.Base = filepath.Base(subfile.SetBase(w.Base, w.Sets))
		s.First, s.Records = w.Sealed, records-w.Sealed
	}
	if old := w.Info.Old; old != nil && !(old.Ranks == w.Info.Ranks && slices.Equal(old.Maps, w.Info.Prints)) {
		s.Ranks, s.Maps = w.Info.Ranks, w.Info.Prints
	}
	s.Added = w.Info.Added
	if w.going && w.Limit > records && w.Opt.Records > 0 {
		s.Room = w.Limit - s.First
	}
	return s
}

// intent is the unprepared manifest that announces a writer.
func (w *Writer) intent() *subfile.Manifest {
	set := subfile.SetBase(w.Base, w.Sets)
	return &subfile.Manifest{ID: durable.NewID(), Writer: w.Ten.Tag(), Finals: !w.Info.Rename, Layout: w.Opt.Layout.String(), Base: filepath.Base(w.Base), Ranks: w.Info.Ranks,
		Sets: []subfile.SetInfo{{Base: filepath.Base(set), Subfiles: make([]subfile.Subfile, w.Info.Subfiles)}}}
}

// abandon removes what this rank made: the partial subfile, and on world rank
// 0 the announcement. Committed files are not touched. It reports nothing: it
// runs after an error that is reported.
func (w *Writer) abandon() {
	defer w.Ten.Release()
	if w.Eng == nil {
		return
	}
	w.Eng.background.ground()
	_ = w.log.Close()
	if w.MayBeInForce {
		return
	}
	if w.Commits > 0 { // what is committed stays; a set that is not has partial names
		if w.Lead && IsPartial(w.Eng.File.Name) {
			w.removeMade()
		}
		return
	}
	if w.log != nil { // a name that nobody else has
		_ = w.Opt.Fs.Remove(subfile.LogName(w.Base, w.Ten.Tag()))
	}
	w.removeMade()
	if w.C.Rank() != 0 || !w.Claimed || w.Info.Foreign {
		return
	}
	if w.files != filesNone && !w.Info.Rename && !w.removeFinals() {
		return
	}
	if errors.Is(w.Ten.Check(), dataset.ErrInUse) { // it is gone, and another's may be there
		return
	}
	_ = subfile.DropNext(w.Opt.Fs, w.Base, w.Ten.Tag())
}

// removeMade removes the subfile that this process created.
func (w *Writer) removeMade() {
	if !w.Lead {
		return
	}
	e := w.Eng
	e.Proc.Pool.CloseFile(e.File.Name)
	if e.File.Made && (IsPartial(e.File.Name) || w.Ten.Check() == nil) { // under a final name there may be the file of who has taken over
		_ = w.Opt.Fs.Remove(e.File.Name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it says whether they are gone for good.
func (w *Writer) removeFinals() bool {
	if w.files != filesAll || w.Ten.Check() != nil {
		return false // other ranks may still be creating them, or they are another writer's
	}
	for i := range w.Info.Subfiles {
		if err := w.Opt.Fs.Remove(subfile.Name(w.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return w.Opt.Fs.SyncDir(subfile.Dir(w.Base)) == nil
}

// LimitPieces completes a manifest whose last set may have checksums of pieces of so many bytes.
func LimitPieces(m *subfile.Manifest, size int64) {
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
