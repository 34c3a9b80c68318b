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
	all, broken, err := w.Commits.seal(ctx, records)
	if w.Commits.MayBeInForce = broken != nil && w.Commits.going && w.Job.C.Rank() != 0; w.Commits.MayBeInForce { // rank 0 may have heard everybody
		broken = &dataset.InDoubtError{Base: w.Job.Base, Err: broken}
	}
	if broken != nil {
		w.State.Fail(broken)
		return nil, broken
	}
	if !w.Commits.going { // else rank 0 learns of errors with what it is told, and all ranks with the verdict
		if err := w.State.lastCall(ctx, err); err != nil {
			return nil, err
		}
	}
	return w.putInForce(ctx, all, records)
}

// putInForce writes the manifest and finishes the commit. Collective.
func (w *Writer) putInForce(ctx context.Context, all [][]byte, records int64) (*subfile.Manifest, error) {
	sync := w.Job.Opt.Durability == dataset.DurableCommit
	m, finished, err := w.Commits.record(ctx, all, records, sync)
	if err != nil {
		w.State.Fail(err)
		return nil, err
	}
	w.Commits.atts = nil
	// From here on the new dataset is the one that is read, whatever fails.
	if finished {
		return m, nil
	}
	if w.Commits.InPlace {
		if w.Job.Lead && w.Job.Eng.Layout.Table.ID[0] == 0 {
			err = w.Job.Eng.Seal.MoveRecords(records, w.Job.Opt.Durability != dataset.DurableNone)
			if cerr := w.Job.Eng.Proc.Pool.CloseFile(w.Job.Eng.File.Name); err == nil {
				err = cerr
			}
		}
		if err := comm.Agree(ctx, w.Job.C, w.Job.Unfinished(err)); err != nil {
			return nil, w.Job.Unfinished(err)
		}
	}
	if !w.Commits.going {
		err = w.Job.Ten.Leave() // this rank touches no file any more
	}
	switch {
	case w.Commits.late != nil: // tried already
		err = w.Commits.late
	case w.Job.C.Rank() == 0 && err == nil:
		err = w.Commits.Finish(m, sync)
	}
	return m, w.Job.Unfinished(comm.Agree(ctx, w.Job.C, w.Job.Unfinished(err)))
}

// Finish gives everything that is in force its final name, on world rank 0.
func (c *commits) Finish(m *subfile.Manifest, sync bool) error {
	err := subfile.Finish(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.By())
	if err == nil && c.claim.replace {
		err = subfile.RemoveStale(c.job.Opt.Fs, c.job.Base, m, c.job.Ten.By(), c.claim.replaced)
	}
	if err == nil {
		err = c.job.Ten.Lease.Settle() // a former writer's files are gone
	}
	return err
}

// Unfinished says of an error behind the commit what it means, before ranks agree on it, and again for those that only get its text.
func (job *Job) Unfinished(err error) error {
	if err == nil || errors.As(err, new(*dataset.UnfinishedError)) {
		return err
	}
	return &dataset.UnfinishedError{Base: job.Base, Err: err}
}

// inDoubt says of an error that the commit may be in force.
func (job *Job) inDoubt(err error) error {
	if errors.As(err, new(*dataset.InDoubtError)) {
		return err
	}
	return &dataset.InDoubtError{Base: job.Base, Err: err}
}

// judged ends a step of the commit that only world rank 0 makes: an error ends the writer, and says if the step may be in force all the same.
func (s *state) judged(outcome verdict.Outcome, err error) error {
	if outcome == verdict.InDoubt {
		err = s.job.inDoubt(err)
	}
	if err != nil {
		s.Fail(err)
	}
	return err
}

// lastCall is the guard before the record is written. If it is the agreement
// itself that breaks, rank 0 may have heard that all is well and write the record, so
// the other ranks leave their files; the next writer finds out.
func (s *state) lastCall(ctx context.Context, err error) error {
	v, agreed := comm.AgreeMin(ctx, s.job.C, err, 0)
	if agreed == nil {
		return nil
	}
	if s.commits.MayBeInForce = s.job.C.Rank() != 0 && v == nil && err == nil; s.commits.MayBeInForce {
		agreed = &dataset.InDoubtError{Base: s.job.Base, Err: agreed}
	}
	s.Fail(agreed)
	return agreed
}

// record writes the prepared manifest; the error is agreed. If that fails the record is taken back;
// where even this fails it may be on disk or not, so no rank removes anything,
// and the next writer finds out. Of a writer that goes on it is finished in the same step: the number of
// records in files that grow is set behind it, as by later commits.
func (c *commits) record(ctx context.Context, all [][]byte, records int64, sync bool) (m *subfile.Manifest, finished bool, err error) {
	var part func() error
	atOnce, done := c.going, int64(1)
	if c.job.C.Rank() == 0 {
		part = func() error {
			var err error
			m, err = c.manifest(all, records)
			if err == nil && c.going {
				err = c.goOn()
			}
			if err != nil { // of any rank: no seal was written
				return c.job.Ten.Explain(err)
			}
			if err = c.WriteNext(m, sync); err == nil && atOnce {
				if c.late = c.Finish(m, sync); c.late != nil {
					done = 0
				}
			}
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, c.job.C, part, func() []int64 { return []int64{done} })
	c.MayBeInForce = outcome != verdict.NotDone
	if outcome == verdict.InDoubt {
		err = c.job.inDoubt(err)
	}
	return m, err == nil && atOnce && v[0] == 1, err
}

// WriteNext writes the prepared manifest. If that fails it is taken back; where even this fails it is not known what is there.
func (c *commits) WriteNext(m *subfile.Manifest, sync bool) error {
	err := subfile.WriteNext(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.byIf(c.mayCommit))
	never := errors.Is(err, dataset.ErrInUse) // the check said so, so it has not got its name, and what is there may be the commit of who has taken over
	if err = c.job.Ten.Explain(err); err == nil || never || c.soft && vfs.Full(err) && c.announced() {
		return err
	}
	if rerr := subfile.DropNext(c.job.Opt.Fs, c.job.Base, c.job.Ten.Tag()); rerr != nil {
		return &dataset.InDoubtError{Base: c.job.Base, Err: errors.Join(err, rerr)}
	}
	return err
}

// mayCommit compares who holds the dataset, and what is in force, with what was when the writer began.
func (c *commits) mayCommit() error {
	if err := c.job.Ten.Check(); err != nil {
		return err
	}
	if id, _, err := subfile.Peek(c.job.Opt.Fs, c.job.Base); err != nil || id == c.claim.Was {
		return err
	}
	return fmt.Errorf("%s: another program has replaced the dataset, or renamed it, while it was being written: %w", c.job.Base, dataset.ErrInUse)
}

// subfiles puts the subfiles' descriptions together, on world rank 0.
func (c *commits) subfiles(all [][]byte) ([]subfile.Subfile, error) {
	subs := make([]subfile.Subfile, c.job.Subfiles)
	prints := make([]int64, len(c.job.Schema.Decomps))
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
			return nil, comm.MetBy(c.job.C, d.Rank, comm.DecodeError(d.Err))
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
	if seen != c.job.Subfiles {
		return nil, fmt.Errorf("%d subfiles described, want %d", seen, c.job.Subfiles)
	}
	if c.Old == nil {
		c.MapPrints = dataset.PrintTexts(prints)
	}
	return subs, nil
}

// manifest describes the dataset, on world rank 0.
func (c *commits) manifest(all [][]byte, records int64) (*subfile.Manifest, error) {
	if all == nil { // attributes only
		m := c.Head(records)
		m.Sets, m.Piece = c.Old.Sets, c.Old.Piece
		return m, nil
	}
	subs, err := c.subfiles(all)
	if err != nil {
		return nil, err
	}
	if c.InPlace {
		return c.grownManifest(records, subs)
	}
	return c.NewManifest(records, subs), nil
}

// Head is a manifest without sets.
func (c *commits) Head(records int64) *subfile.Manifest {
	m := &subfile.Manifest{Prepared: true, ID: durable.NewID(), Writer: c.job.Ten.Tag(), Layout: c.job.Opt.Layout.String(), Base: filepath.Base(c.job.Base),
		Records: records, Ranks: c.job.Ranks, Maps: c.MapPrints}
	if c.job.Opt.Compress.On() {
		m.Codec = dataset.ManifestCodec
	}
	if old := c.Old; old != nil {
		if old.Codec != "" {
			m.Codec = old.Codec
		}
		m.ID, m.Unverified, m.Ranks, m.Maps = old.ID, old.Unverified, old.Ranks, old.Maps
		m.Atts = slices.Clone(old.Atts)
	}
	m.AddAtts(c.atts)
	if c.going {
		m.Log, m.Commits, m.Held = c.job.Ten.Tag(), 1, c.held.Last.Info()
	}
	return m
}

// grownManifest describes a dataset to whose subfiles this session has added.
func (c *commits) grownManifest(records int64, subs []subfile.Subfile) (*subfile.Manifest, error) {
	m := c.Old.Clone()
	if m.Piece == 0 {
		m.Piece = c.job.Opt.Piece
	}
	e := &subfile.Entry{ID: m.ID, Commit: m.Commits + 1, Records: records}
	for k := range subs {
		e.Subfiles = append(e.Subfiles, subfile.Growth{Size: subs[k].Size, Extents: subs[k].Extents, Pieces: subs[k].Pieces})
	}
	if err := m.Apply(e); err != nil {
		return nil, err
	}
	h := c.Head(records)
	h.Sets = m.Sets
	LimitPieces(h, c.job.Opt.Piece)
	return h, nil
}

// NewManifest describes the dataset with the subfiles of this session, a set.
func (c *commits) NewManifest(records int64, subs []subfile.Subfile) *subfile.Manifest {
	m := c.Head(records)
	if c.Old != nil {
		m.Sets = append(m.Sets, c.Old.Sets...)
	}
	m.Sets = append(m.Sets, c.newSet(records, subs))
	LimitPieces(m, c.job.Opt.Piece)
	return m
}

// newSet describes the subfiles of this session, or of one commit of it.
func (c *commits) newSet(records int64, subs []subfile.Subfile) subfile.SetInfo {
	s := subfile.SetInfo{Base: filepath.Base(c.job.Base), Records: records, Subfiles: subs}
	if c.Sets > 0 {
		s.Base = filepath.Base(subfile.SetBase(c.job.Base, c.Sets))
		s.First, s.Records = c.Sealed, records-c.Sealed
	}
	if old := c.Old; old != nil && !(old.Ranks == c.job.Ranks && slices.Equal(old.Maps, c.MapPrints)) {
		s.Ranks, s.Maps = c.job.Ranks, c.MapPrints
	}
	s.Added = c.Added
	if c.going && c.job.Limit > records && c.job.Opt.Records > 0 {
		s.Room = c.job.Limit - s.First
	}
	return s
}

// intent is the unprepared manifest that announces a writer.
func (c *claim) intent(sets int) *subfile.Manifest {
	set := subfile.SetBase(c.job.Base, sets)
	return &subfile.Manifest{ID: durable.NewID(), Writer: c.job.Ten.Tag(), Finals: !c.Rename, Layout: c.job.Opt.Layout.String(), Base: filepath.Base(c.job.Base), Ranks: c.job.Ranks,
		Sets: []subfile.SetInfo{{Base: filepath.Base(set), Subfiles: make([]subfile.Subfile, c.job.Subfiles)}}}
}

// abandon removes what this rank made: the partial subfile, and on world rank
// 0 the announcement. Committed files are not touched. It reports nothing: it
// runs after an error that is reported.
func (s *state) abandon() {
	defer s.job.Ten.Release()
	if s.job.Eng == nil {
		return
	}
	s.job.Eng.background.ground()
	_ = s.commits.log.Close()
	if s.commits.MayBeInForce {
		return
	}
	if s.commits.Count > 0 { // what is committed stays; a set that is not has partial names
		if s.job.Lead && IsPartial(s.job.Eng.File.Name) {
			s.files.removeMade()
		}
		return
	}
	if s.commits.log != nil { // a name that nobody else has
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag()))
	}
	s.files.removeMade()
	if s.job.C.Rank() != 0 || !s.claim.Claimed || s.claim.Foreign {
		return
	}
	if s.files.made != filesNone && !s.claim.Rename && !s.files.removeFinals() {
		return
	}
	if errors.Is(s.job.Ten.Check(), dataset.ErrInUse) { // it is gone, and another's may be there
		return
	}
	_ = subfile.DropNext(s.job.Opt.Fs, s.job.Base, s.job.Ten.Tag())
}

// removeMade removes the subfile that this process created.
func (s *files) removeMade() {
	if !s.job.Lead {
		return
	}
	e := s.job.Eng
	e.Proc.Pool.CloseFile(e.File.Name)
	if e.File.Made && (IsPartial(e.File.Name) || s.job.Ten.Check() == nil) { // under a final name there may be the file of who has taken over
		_ = s.job.Opt.Fs.Remove(e.File.Name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it says whether they are gone for good.
func (s *files) removeFinals() bool {
	if s.made != filesAll || s.job.Ten.Check() != nil {
		return false // other ranks may still be creating them, or they are another writer's
	}
	for i := range s.job.Subfiles {
		if err := s.job.Opt.Fs.Remove(subfile.Name(s.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base)) == nil
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
