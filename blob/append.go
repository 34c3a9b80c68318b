package blob

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/subfile"
)

// Append opens a committed dataset to add records, by as many ranks, and with what maps and
// grouping, as are given, whoever wrote it before. The schema is the one in the files: Writer.Schema
// and Schema.VarID give the variables' ids, and a process-centric dataset's
// has record variables only. The first record to put is Writer.Records. What
// was committed stays readable, and is what is read, until Close. Collective.
//
// A variable-centric dataset grows in place if its last records were written by the same ranks with the same maps and grouping. Otherwise, and
// in the process-centric layout always, the records go to one
// more set of subfiles (ErrExist if another file has the name of one). Readers find all sets as one dataset, and Convert makes one of them. A dataset
// that another program wrote is taken over: it gets a manifest first.
func Append(ctx context.Context, c comm.Comm, name string, parts []Part, o *Options) (*Writer, error) {
	return appendWith(ctx, c, name, parts, o.plain())
}

// AppendSchema is Append with variables that are new: s is what Reader.Extend has returned of this dataset, with dimensions and variables defined since.
// The records go to a further set of subfiles; in those before, the new variables read as fill values. A dimension that no new variable has is ErrUsage,
// before anything is touched; of a session without records nothing is there of what it adds.
// The same on all ranks. Collective.
func AppendSchema(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	if s == nil {
		s = &Schema{} // of no dataset: told on all ranks
	}
	return appendSchema(ctx, c, name, s, parts, o.plain())
}

func appendWith(ctx context.Context, c comm.Comm, name string, parts []Part, o *settings) (*Writer, error) {
	return appendSchema(ctx, c, name, nil, parts, o)
}

func appendSchema(ctx context.Context, c comm.Comm, name string, more *Schema, parts []Part, o *settings) (_ *Writer, err error) {
	ctx = comm.In(ctx, "Append")
	opt := o.withDefaults()
	opts, sum := opt.hash(name), int64(0)
	if err = o.Validate(); more != nil && err == nil {
		err, sum = more.checkExtension(), more.digest()
	}
	alike, err := comm.AgreeMin(ctx, c, err, opts, ^opts, sum, ^sum)
	if err != nil {
		return nil, err
	}
	if alike[0] != ^alike[1] {
		return nil, fault.Usage("the ranks pass different names or options")
	}
	if alike[2] != ^alike[3] {
		return nil, fault.Usage("the ranks pass different schemas")
	}
	w := &Writer{c: c, opt: opt}
	if c.Rank() == 0 {
		err = prepareAppend(ctx, w, name)
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
	w.opt.WideMaps = r.wideMaps() // as in the files, whatever is asked for
	if w.opt.Layout.traits().Grows {
		w.opt.Records = 0
	} else {
		w.schema = r.schema.recordsOnly()
		if w.opt.Records > 0 {
			w.limit = w.first + w.opt.Records
		}
	}
	if more != nil {
		s, added, xerr := w.schema.extended(more)
		if xerr == nil {
			_, xerr = r.schema.withAdded(added, s) // as whoever opens it will
		}
		if err = comm.Agree(ctx, c, xerr); err != nil { // ranks can have extended different states
			return nil, err
		}
		w.schema, w.info.added = s, added
	}
	w.info.old, w.sets = r.manifest, len(r.manifest.Sets)
	for i := range r.manifest.Atts {
		w.attBytes += int64(len(r.manifest.Atts[i].Data) + len(r.manifest.Atts[i].Name))
	}
	if r.manifest.Piece != 0 {
		w.opt.piece = r.manifest.Piece
	}
	if w.c.Rank() == 0 && w.first > 0 {
		w.everPut = func(ctx context.Context) []int64 { return findEverPut(ctx, w) }
	}
	if w.opt.Subfiles == 0 && w.opt.Grouping != subfile.ByNode {
		w.opt.Subfiles = min(len(r.sets[w.sets-1].parts), c.Size())
	}
	runs, err := checkOwn(r.schema, parts, true, w.opt.Repeats)
	if err == nil {
		err = w.opt.Compress.fits(r.layout)
	}
	if err == nil && r.layout.traits().ByRank {
		err = w.schema.canSum(w.opt.Records)
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
	if err = comm.Agree(ctx, c, chooseParts(w, r, parts)); err != nil {
		return nil, err
	}
	if err = reopen(ctx, w, r); err != nil {
		w.fail(err)
	}
	return w, err
}

// prepareAppend takes the lease of the dataset, brings it to a clean state and gives it a manifest if it has none.
func prepareAppend(ctx context.Context, w *Writer, name string) error {
	o := &w.opt
	found, err := subfile.Find(o.fs, name)
	if err != nil {
		return err
	}
	if found.Single {
		return fault.Usage("append to %s: an ordinary file, want a dataset of subfiles", name)
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
	st, err := stateOf(o.fs, found.Base, false)
	if err == nil && st.Manifest == nil && len(found.Members) == 0 {
		err = ErrNotCommitted
	}
	if err == nil {
		err = leftBy(o.fs, found.Base, st)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
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
		return fmt.Errorf("append to %s: %w", name, ErrNotCommitted)
	}
	if m == nil {
		w.info.was, err = adopt(ctx, found.Base, o, w.ten)
	}
	return err
}

// chooseParts says whether the last set of files grows, and prepares the engine for that, or for another set.
func chooseParts(w *Writer, r *Reader, parts []Part) (err error) {
	last := r.sets[w.sets-1]
	grows, alike := w.opt.Layout.traits().Grows, r.manifest.SameMaps(&r.manifest.Sets[w.sets-1], w.info.ranks, w.info.subfiles, w.info.prints)
	if w.inPlace = grows && alike && len(w.info.added) == 0; w.inPlace {
		w.sets--
	} else if _, err := checkParts(r.schema, parts, w.opt.WideMaps); err != nil { // they were for maps that are there
		return err
	}
	if w.lead {
		w.eng.base, w.eng.first, w.eng.from = w.first, w.first, w.first
	}
	if !grows || w.inPlace && w.sets == 0 {
		if w.lead && w.inPlace {
			w.eng.base = 0
		}
		return nil
	}
	w.ids = recordIDs(w.schema)
	if !w.lead {
		return nil
	}
	if err = w.eng.renew(w.schema.recordsOnly(), nil, w.first); err == nil && w.inPlace {
		w.eng.base = last.first
	}
	return err
}

// reopen gets the subfiles ready for the new records. Collective.
func reopen(ctx context.Context, w *Writer, r *Reader) error {
	e := w.eng
	if w.lead {
		e.proc.tenure.Store(w.ten)
	}
	if !w.inPlace {
		w.info.rename = w.opt.CommitMode != CommitManifestOnly && w.info.subfiles <= maxAutoRenames || w.opt.CommitMode == CommitRename
		set := subfile.SetBase(w.base, w.sets)
		var err error
		if w.c.Rank() == 0 {
			if err = w.vacant(set); err == nil && layoutGrows(w.info.old.Layout) { // a commit to the files of the last set was cut short
				err = settle(w.opt.fs, w.base, w.info.old, w.ten)
			}
			if err == nil {
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
		p := r.sets[w.sets].parts[e.index]
		if err = p.load(); err == nil {
			pl, sh := *p.place, *p.place.Shape
			// In the file a map that is empty there has one element, which nobody writes.
			sh.Elems = e.place.Shape.Elems
			pl.Shape = &sh
			e.place = &pl
			e.name, e.final = p.name, p.name
			e.appended, e.mapsOut = true, true
			e.end = p.info.Size
			was := &w.info.old.Sets[w.sets].Subfiles[e.index]
			e.coarse = int64(len(was.Pieces)) != e.place.Pieces(e.table, e.sums.Piece).Total(w.first-e.base) // an older program left them out
			e.exts = e.place.ExtentOrder()
			if e.table.ID[0] == 0 {
				err = subfile.Unshare(w.opt.fs, e.name, e.end, w.ten.by(), w.opt.Durability != DurableNone)
			}
			if err == nil && e.table.ID[0] == 0 && p.records != w.first-e.base { // a commit was cut short before it moved the count
				err = e.moveRecords(w.first, w.opt.Durability != DurableNone)
			}
		}
	}
	return comm.Agree(ctx, w.c, w.ten.explain(err))
}
