package blob

import (
	"context"
	"slices"

	"blobio/comm"
	"blobio/subfile"
)

// Append opens a committed dataset to add records, with the ranks, maps and
// grouping that wrote it (ErrMapMismatch otherwise). The schema is the one in the files: Writer.Schema
// and Schema.VarID give the variables' ids, and a process-centric dataset's
// has record variables only. The first record to put is Writer.Records. What
// was committed stays readable, and is what is read, until Close. Collective.
//
// A variable-centric dataset grows in place; a process-centric one gets one
// more set of subfiles (ErrExist if another file has the name of one). A dataset that another program wrote is taken over:
// it gets a manifest first.
func Append(ctx context.Context, c comm.Comm, name string, parts []Part, o *Options) (*Writer, error) {
	return appendWith(ctx, c, name, parts, o.plain())
}

func appendWith(ctx context.Context, c comm.Comm, name string, parts []Part, o *settings) (_ *Writer, err error) {
	opt := o.withDefaults()
	opts := opt.hash(name)
	alike, err := comm.AgreeMin(ctx, c, o.Validate(), opts, ^opts)
	if err != nil {
		return nil, err
	}
	if alike[0] != ^alike[1] {
		return nil, pkg.Usage("the ranks pass different names or options")
	}
	w := &Writer{c: c, opt: opt}
	if c.Rank() == 0 {
		err = w.prepareAppend(ctx, name)
	}
	defer func() {
		if err != nil && w.err == nil { // a writer that failed has given the dataset back
			if c.Rank() == 0 { // to the others this one's release would look like a loss
				err = w.ten.explain(err)
			}
			_ = w.ten.release() // the error before is the one to tell
		}
	}()
	words, err := comm.AgreeMin(ctx, c, w.ten.explain(err), w.ten.words()...)
	if err != nil {
		return nil, err
	}
	r, err := openCommWith(ctx, c, name, &OpenOptions{MaxOpen: opt.MaxOpen, Workers: opt.Workers}, knobs{fs: opt.fs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w.schema, w.base, w.first, w.sealed, w.known = r.schema, r.base, r.records, r.records, r.records
	w.serve(words)
	w.opt.Layout, w.opt.Force = r.layout, false
	w.opt.WideMaps = slices.Contains(r.sets[0].parts[0].place.Shape.Wide, true) // as in the files, whatever is asked for
	if w.opt.Layout.traits().Grows {
		w.opt.Records = 0
	} else {
		w.schema = r.schema.recordsOnly()
		if w.opt.Records > 0 {
			w.limit = w.first + w.opt.Records
		}
	}
	w.info.old, w.sets = r.manifest, len(r.manifest.Sets)
	if w.opt.Layout.traits().Grows {
		w.sets = 0 // the same one
	}
	if r.manifest.Piece != 0 {
		w.opt.piece = r.manifest.Piece
	}
	if w.opt.Subfiles == 0 && w.opt.Grouping != subfile.ByNode {
		w.opt.Subfiles = len(r.sets[0].parts)
	}
	runs, err := checkParts(r.schema, parts, true)
	if err == nil {
		err = w.opt.Compress.fits(r.layout)
	}
	if err == nil && r.layout.traits().ByRank {
		err = r.schema.canSum(w.opt.Records)
	}
	if err == nil && r.manifest.Ranks != c.Size() {
		err = pkg.Errorf("%s was written by %d ranks, not by %d: %w", r.base, r.manifest.Ranks, c.Size(), ErrMapMismatch)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	mine, err := w.setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = comm.Agree(ctx, c, mine); err != nil {
		return nil, err
	}
	prints, err := c.AllreduceInt64(ctx, w.prints(), comm.Sum)
	if err != nil {
		return nil, err
	}
	w.info.prints = printTexts(prints)
	switch {
	case w.info.subfiles != len(r.sets[0].parts):
		err = pkg.Errorf("%s has %d subfiles, this grouping makes %d: %w", r.base, len(r.sets[0].parts), w.info.subfiles, ErrMapMismatch)
	case !slices.Equal(w.info.prints, r.manifest.Maps):
		err = pkg.Errorf("%s: fingerprints of the maps are %v, those in the manifest %v: %w", r.base, w.info.prints, r.manifest.Maps, ErrMapMismatch)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if err = w.reopen(ctx, r); err != nil {
		w.fail(err)
	}
	return w, err
}

// prepareAppend takes the lease of the dataset, brings it to a clean state and gives it a manifest if it has none.
func (w *Writer) prepareAppend(ctx context.Context, name string) error {
	o := &w.opt
	found, err := subfile.Find(o.fs, name)
	if err != nil {
		return err
	}
	if found.Single {
		return pkg.Usage("append to %s: an ordinary file, want a dataset of subfiles", name)
	}
	if err := checkName(found.Base); err != nil {
		return err
	}
	if err := w.acquire(ctx, found.Base); err != nil {
		return err
	}
	if err := w.share(); err != nil {
		return err
	}
	st, err := subfile.ReadState(o.fs, found.Base)
	if err == nil && st.Manifest == nil && len(found.Members) == 0 {
		err = ErrNotCommitted
	}
	if err != nil {
		return pkg.Errorf("append to %s: %w", name, err)
	}
	m, err := subfile.Recover(o.fs, found.Base, w.ten.by())
	if err != nil {
		return err
	}
	if m != nil {
		w.info.was = m.ID
	}
	if err := w.ten.secure(m, o.Durability == DurableCommit); err != nil {
		return err
	}
	if m == nil && len(found.Members) == 0 {
		return pkg.Errorf("append to %s: %w", name, ErrNotCommitted)
	}
	if m == nil {
		w.info.was, err = adopt(ctx, found.Base, o, w.ten)
	}
	return err
}

// reopen gets the subfiles ready for the new records. Collective.
func (w *Writer) reopen(ctx context.Context, r *Reader) error {
	e := w.eng
	if w.lead {
		e.first, e.from = w.first, w.first
		e.proc.tenure.Store(w.ten)
	}
	if !w.opt.Layout.traits().Grows {
		w.info.rename = w.opt.CommitMode != CommitManifestOnly && w.info.subfiles <= maxAutoRenames || w.opt.CommitMode == CommitRename
		set := subfile.SetBase(w.base, w.sets)
		var err error
		if w.c.Rank() == 0 {
			if err = w.vacant(set); err == nil {
				err = w.announce()
			}
		}
		if err := comm.Agree(ctx, w.c, w.ten.explain(err)); err != nil {
			return err
		}
		return w.makeFiles(ctx, set, nil)
	}
	var err error
	if w.lead {
		// The file's own header decides where records lie: another program may align them.
		p := r.sets[0].parts[e.index]
		if err = p.load(); err == nil {
			pl, sh := *p.place, *p.place.Shape
			// In the file a map that is empty there has one element, which nobody writes.
			sh.Elems = e.place.Shape.Elems
			pl.Shape = &sh
			e.place = &pl
			e.name, e.final = p.name, p.name
			e.appended, e.mapsOut = true, true
			e.end = p.info.Size
			was := &w.info.old.Sets[0].Subfiles[e.index]
			e.coarse = int64(len(was.Pieces)) != e.place.Pieces(e.table, e.sums.Piece).Total(w.first) // an older program left them out
			e.recount()
			if e.table.ID[0] == 0 && p.records != w.first { // a commit was cut short before it moved the count
				err = e.moveRecords(w.first, w.opt.Durability != DurableNone)
			}
		}
	}
	return comm.Agree(ctx, w.c, w.ten.explain(err))
}
