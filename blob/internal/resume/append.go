package resume

import (
	"context"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// Append is blob.Append.
func Append(ctx context.Context, c comm.Comm, name string, s *dataset.Schema, parts []write.Part, o *dataset.Options) (*write.Writer, error) {
	return AppendSettings(ctx, c, name, s, parts, o.Plain())
}

func AppendWith(ctx context.Context, c comm.Comm, name string, parts []write.Part, o *dataset.Settings) (*write.Writer, error) {
	return AppendSettings(ctx, c, name, nil, parts, o)
}

func AppendSettings(ctx context.Context, c comm.Comm, name string, more *dataset.Schema, parts []write.Part, o *dataset.Settings) (_ *write.Writer, err error) {
	ctx = comm.In(ctx, "Append")
	opt := o.WithDefaults()
	if err = sameCall(ctx, c, name, more, &opt, o.Validate()); err != nil {
		return nil, err
	}
	w := write.NewWriter(&write.Job{C: c, Opt: opt})
	if c.Rank() == 0 {
		err = prepareAppend(ctx, w, name)
	}
	defer func() {
		if err != nil && w.State.Err == nil { // a failed writer has already released the dataset
			if c.Rank() == 0 { // on other ranks, Explain would mistake rank 0's release for a takeover
				err = w.Job.Ten.Explain(err)
			}
			_ = w.Job.Ten.Release()
		}
	}()
	words, err := comm.AgreeMin(ctx, c, w.Job.Ten.Explain(err), w.Job.Ten.Words()...)
	if err != nil {
		return nil, err
	}
	r, err := read.OpenCommWith(ctx, c, name, &read.OpenOptions{MaxOpen: opt.MaxOpen, Workers: opt.Workers}, dataset.Knobs{Fs: opt.Fs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	goOn(w, r)
	w.Job.Serve(words)
	if more != nil {
		if err = extend(ctx, w, r, more); err != nil {
			return nil, err
		}
	}
	if w.Job.Opt.Subfiles == 0 && w.Job.Opt.Grouping != subfile.ByNode {
		w.Job.Opt.Subfiles = min(len(r.Data.Sets[w.Commits.Sets-1].Parts), c.Size())
	}
	runs, err := write.CheckOwn(r.Data.Schema, parts, true, w.Job.Opt.Repeats)
	if err == nil {
		err = w.Job.Opt.Compress.Fits(r.Data.Layout)
	}
	if err == nil && r.Data.Layout.Traits().ByRank {
		err = w.Job.Schema.CanSum(w.Job.Opt.Records)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	mine, err := w.Job.Setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = comm.Agree(ctx, c, mine); err != nil {
		return nil, err
	}
	prints, err := c.AllreduceInt64(ctx, w.Job.Prints(), comm.Sum)
	if err != nil {
		return nil, err
	}
	w.Commits.MapPrints = dataset.PrintTexts(prints)
	if err = comm.Agree(ctx, c, chooseParts(w, r, parts)); err != nil {
		return nil, err
	}
	if err = reopen(ctx, w, r); err != nil {
		w.State.Fail(err)
	}
	return w, err
}

// sameCall returns an error if the options are invalid, or if options, name or schema differ between ranks.
// Collective.
func sameCall(ctx context.Context, c comm.Comm, name string, more *dataset.Schema, o *dataset.Settings, err error) error {
	opts, sum := o.Hash(name), int64(0)
	if more != nil && err == nil {
		err, sum = dataset.CheckExtension(more), more.Digest()
	}
	alike, err := comm.AgreeMin(ctx, c, err, opts, ^opts, sum, ^sum)
	switch {
	case err != nil:
		return err
	case alike[0] != ^alike[1]:
		return fault.Usage("the ranks pass different names or options")
	case alike[2] != ^alike[3]:
		return fault.Usage("the ranks pass different schemas")
	}
	return nil
}

// goOn copies the state of the existing dataset into the writer.
func goOn(w *write.Writer, r *read.Reader) {
	w.Job.Schema, w.Job.Base, w.Puts.First, w.Commits.Sealed, w.Commits.Known = r.Data.Schema, r.Files.Base, r.Data.Records, r.Data.Records, r.Data.Records
	w.Job.Opt.Layout, w.Job.Opt.Force = r.Data.Layout, false
	w.Job.Opt.WideMaps = r.Data.WideMaps() // the files decide this, not the options
	if w.Job.Opt.Layout.Traits().Grows {
		w.Job.Opt.Records = 0
	} else {
		w.Job.Schema = r.Data.Schema.RecordsOnly()
		if w.Job.Opt.Records > 0 {
			w.Job.Limit = w.Puts.First + w.Job.Opt.Records
		}
	}
	w.Commits.Old, w.Commits.Sets = r.Files.Manifest, len(r.Files.Manifest.Sets)
	for i := range r.Files.Manifest.Atts {
		w.Commits.AttBytes += int64(len(r.Files.Manifest.Atts[i].Data) + len(r.Files.Manifest.Atts[i].Name))
	}
	if r.Files.Manifest.Piece != 0 {
		w.Job.Opt.Piece = r.Files.Manifest.Piece
	}
	if w.Job.C.Rank() == 0 && w.Puts.First > 0 {
		w.Held.EverPut = func(ctx context.Context) []int64 { return findEverPut(ctx, w) }
	}
}

// extend adds the new variables to the writer's schema. Collective.
func extend(ctx context.Context, w *write.Writer, r *read.Reader, more *dataset.Schema) error {
	s, added, err := dataset.Extended(w.Job.Schema, more)
	if err == nil {
		_, err = r.Data.Schema.WithAdded(added, s) // readers will make the same check
	}
	if err = comm.Agree(ctx, w.Job.C, err); err != nil { // ranks may have extended different states of the dataset
		return err
	}
	w.Job.Schema, w.Commits.Added = s, added
	return nil
}

// prepareAppend takes the lease of the dataset, brings the dataset to a clean state, and gives it a manifest if it
// has none.
func prepareAppend(ctx context.Context, w *write.Writer, name string) error {
	o := &w.Job.Opt
	found, err := subfile.Find(o.Fs, name)
	if err != nil {
		return err
	}
	if found.Single {
		return fault.Usage("append to %s: found an ordinary file, want a dataset of subfiles", name)
	}
	if err := write.CheckName(found.Base); err != nil {
		return err
	}
	if err := w.Job.Acquire(ctx, found.Base); err != nil {
		return err
	}
	if err := w.Job.Share(); err != nil {
		return err
	}
	st, err := stateOf(o.Fs, found.Base, false)
	if err == nil && st.Manifest == nil && len(found.Members) == 0 {
		err = dataset.ErrNotCommitted
	}
	if err == nil {
		err = lease.LeftBy(o.Fs, found.Base, st)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	m, err := subfile.Recover(o.Fs, found.Base, w.Job.Ten.By())
	if err != nil {
		return err
	}
	if m != nil {
		w.Claim.Was = m.ID
	}
	if err := w.Job.Ten.Secure(m, o.Durability == dataset.DurableCommit); err != nil {
		return err
	}
	if m == nil && len(found.Members) == 0 {
		return fmt.Errorf("append to %s: %w", name, dataset.ErrNotCommitted)
	}
	if m == nil {
		w.Claim.Was, err = adopt(ctx, found.Base, o, w.Job.Ten)
	}
	return err
}

// chooseParts decides whether the files of the last set grow, and prepares the engine for these files or for a new
// set.
func chooseParts(w *write.Writer, r *read.Reader, parts []write.Part) (err error) {
	last := r.Data.Sets[w.Commits.Sets-1]
	grows, alike := w.Job.Opt.Layout.Traits().Grows, r.Files.Manifest.SameMaps(&r.Files.Manifest.Sets[w.Commits.Sets-1], w.Job.Ranks, w.Job.Subfiles, w.Commits.MapPrints)
	if w.Commits.InPlace = grows && alike && len(w.Commits.Added) == 0; w.Commits.InPlace {
		w.Commits.Sets--
	} else if _, err := write.CheckParts(r.Data.Schema, parts, w.Job.Opt.WideMaps); err != nil { // the parts need not match the existing maps, but must be valid
		return err
	}
	if w.Job.Lead {
		w.Job.Eng.StartAt(w.Puts.First)
	}
	if !grows || w.Commits.InPlace && w.Commits.Sets == 0 {
		if w.Job.Lead && w.Commits.InPlace {
			w.Job.Eng.Layout.Base = 0
		}
		return nil
	}
	w.Puts.Ids = write.RecordIDs(w.Job.Schema)
	if !w.Job.Lead {
		return nil
	}
	if err = w.Job.Eng.Renew(w.Job.Schema.RecordsOnly(), nil, w.Puts.First); err == nil && w.Commits.InPlace {
		w.Job.Eng.Layout.Base = last.First
	}
	return err
}

// reopen prepares the subfiles for the new records. Collective.
func reopen(ctx context.Context, w *write.Writer, r *read.Reader) error {
	e := w.Job.Eng
	if w.Job.Lead {
		e.Proc.Tenure.Store(w.Job.Ten)
	}
	if !w.Commits.InPlace {
		w.Claim.Rename = w.Job.Subfiles <= w.Job.Opt.Renames
		set := subfile.SetBase(w.Job.Base, w.Commits.Sets)
		var err error
		if w.Job.C.Rank() == 0 {
			if err = w.Claim.Vacant(set); err == nil && dataset.LayoutGrows(w.Commits.Old.Layout) { // an interrupted commit may have extended the files of the last set
				err = settle(w.Job.Opt.Fs, w.Job.Base, w.Commits.Old, w.Job.Ten)
			}
			if err == nil {
				err = w.Claim.Announce(w.Commits.Sets)
			}
		}
		if err := comm.Agree(ctx, w.Job.C, w.Job.Ten.Explain(err)); err != nil {
			return err
		}
		return w.Files.Make(ctx, set, nil)
	}
	var err error
	if w.Job.Lead {
		// The header in the file gives the offsets of records, because another program may have aligned them.
		p := r.Data.Sets[w.Commits.Sets].Parts[e.File.Index]
		if err = p.Load(); err == nil {
			pl, sh := *p.Place, *p.Place.Shape
			// In the file, an empty map has one element, which no rank writes.
			sh.Elems = e.Layout.Place.Shape.Elems
			pl.Shape = &sh
			e.Layout.Place = &pl
			e.File.Name, e.File.Final = p.Name, p.Name
			e.Layout.Appended, e.Layout.MapsOut = true, true
			e.File.End = p.Info.Size
			was := &w.Commits.Old.Sets[w.Commits.Sets].Subfiles[e.File.Index]
			e.Sums.Coarse = int64(len(was.Pieces)) != layout.NewPieceIndex(&e.Layout.Place.Place, e.Layout.Table, e.Sums.Set.Piece).Total(w.Puts.First-e.Layout.Base) // an older program left them out
			e.Layout.Exts = e.Layout.Place.Header.ExtentOrder()
			if e.Layout.Table.ID[0] == 0 {
				err = subfile.Unshare(w.Job.Opt.Fs, e.File.Name, e.File.End, w.Job.Ten.By(), w.Job.Opt.Durability != dataset.DurableNone)
			}
			if err == nil && e.Layout.Table.ID[0] == 0 && p.Records != w.Puts.First-e.Layout.Base { // a commit was interrupted before it changed the number of records
				err = e.Seal.MoveRecords(w.Puts.First, w.Job.Opt.Durability != dataset.DurableNone)
			}
		}
	}
	return comm.Agree(ctx, w.Job.C, w.Job.Ten.Explain(err))
}
