package write

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/crccat"
	"blobio/internal/base/durable"
	"blobio/internal/comm/remote"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
)

// subfiles collects the descriptions of the subfiles. Only world rank 0 calls it.
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
			return nil, fmt.Errorf("cannot decode the description of the subfile of rank %d: %w", r, err)
		}
		if d.Err != nil {
			return nil, comm.MetBy(c.job.C, d.Rank, remote.Decode(d.Err))
		}
		for k, v := range d.Prints {
			prints[k] += v
		}
		// Descriptions arrive in the order of first ranks. This is the order of subfile numbers, also for round-robin assignment.
		if seen < len(subs) {
			subs[seen] = *d.Subfile
		}
		seen++
	}
	if seen != c.job.Subfiles {
		return nil, fmt.Errorf("ranks described %d subfiles, want %d", seen, c.job.Subfiles)
	}
	if c.Old == nil {
		c.MapPrints = dataset.PrintTexts(prints)
	}
	return subs, nil
}

// manifest makes the manifest of the dataset. Only world rank 0 calls it.
func (c *commits) manifest(all [][]byte, records int64) (*subfile.Manifest, error) {
	if all == nil { // commit only attributes
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

// Head returns a manifest without sets.
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

// grownManifest returns the manifest of a dataset to whose subfiles this session has added records.
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

// NewManifest returns the manifest of the dataset with the subfiles of this session as a set.
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

// intent returns the unprepared manifest that announces a writer.
func (c *claim) intent(sets int) *subfile.Manifest {
	set := subfile.SetBase(c.job.Base, sets)
	return &subfile.Manifest{ID: durable.NewID(), Writer: c.job.Ten.Tag(), Finals: !c.Rename, Layout: c.job.Opt.Layout.String(), Base: filepath.Base(c.job.Base), Ranks: c.job.Ranks,
		Sets: []subfile.SetInfo{{Base: filepath.Base(set), Subfiles: make([]subfile.Subfile, c.job.Subfiles)}}}
}

// LimitPieces drops the checksums of pieces of the last set if m has too many of them, and sets the size of a piece.
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

// addSet commits the kept puts of records below records as a further set of subfiles. The files get their final names just before
// the log entry. Until the entry is in force, the files belong to no committed state, and the next writer would remove them.
// Collective.
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

// nextSet prepares the set after a committed one. The new set has only record variables. Collective.
func (w *Writer) nextSet(ctx context.Context, records int64) (err error) {
	w.Commits.Sealed, w.Files.placed = records, false
	s := w.Job.Schema.RecordsOnly()
	var was []int32 // by variable of the previous set: its number in the new set
	if w.Puts.Ids == nil {
		w.Puts.Ids = RecordIDs(w.Job.Schema)
		was = w.Puts.Ids
		for k := range w.Puts.list { // puts made since CommitAsync
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

// RecordIDs returns, for each variable, its number in Schema.RecordsOnly.
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

// noVariable is the number of a fixed variable in sets without fixed variables. Nothing can be put to it.
const noVariable = math.MinInt32
