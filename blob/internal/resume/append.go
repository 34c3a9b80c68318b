package resume

import (
	"context"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/subfile"
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
	w := &write.Writer{C: c, Opt: opt}
	if c.Rank() == 0 {
		err = prepareAppend(ctx, w, name)
	}
	defer func() {
		if err != nil && w.Err == nil { // a writer that failed has given the dataset back
			if c.Rank() == 0 { // to the others this one's release would look like a loss
				err = w.Ten.Explain(err)
			}
			_ = w.Ten.Release() // the error before is the one to tell
		}
	}()
	words, err := comm.AgreeMin(ctx, c, w.Ten.Explain(err), w.Ten.Words()...)
	if err != nil {
		return nil, err
	}
	r, err := read.OpenCommWith(ctx, c, name, &read.OpenOptions{MaxOpen: opt.MaxOpen, Workers: opt.Workers}, dataset.Knobs{Fs: opt.Fs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	goOn(w, r)
	w.Serve(words)
	if more != nil {
		if err = extend(ctx, w, r, more); err != nil {
			return nil, err
		}
	}
	if w.Opt.Subfiles == 0 && w.Opt.Grouping != subfile.ByNode {
		w.Opt.Subfiles = min(len(r.Sets[w.Sets-1].Parts), c.Size())
	}
	runs, err := write.CheckOwn(r.Schema, parts, true, w.Opt.Repeats)
	if err == nil {
		err = w.Opt.Compress.Fits(r.Layout)
	}
	if err == nil && r.Layout.Traits().ByRank {
		err = w.Schema.CanSum(w.Opt.Records)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	mine, err := w.Setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = comm.Agree(ctx, c, mine); err != nil {
		return nil, err
	}
	prints, err := c.AllreduceInt64(ctx, w.Prints(), comm.Sum)
	if err != nil {
		return nil, err
	}
	w.Info.Prints = dataset.PrintTexts(prints)
	if err = comm.Agree(ctx, c, chooseParts(w, r, parts)); err != nil {
		return nil, err
	}
	if err = reopen(ctx, w, r); err != nil {
		w.Fail(err)
	}
	return w, err
}

// sameCall fails if the options are wrong, or differ between the ranks, as a name or a schema may. Collective.
func sameCall(ctx context.Context, c comm.Comm, name string, more *dataset.Schema, o *dataset.Settings, err error) error {
	opts, sum := o.Hash(name), int64(0)
	if more != nil && err == nil {
		err, sum = more.CheckExtension(), more.Digest()
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

// goOn takes over what the writer has of the dataset that is there.
func goOn(w *write.Writer, r *read.Reader) {
	w.Schema, w.Base, w.First, w.Sealed, w.Known = r.Schema, r.Base, r.Records, r.Records, r.Records
	w.Opt.Layout, w.Opt.Force = r.Layout, false
	w.Opt.WideMaps = r.WideMaps() // as in the files, whatever is asked for
	if w.Opt.Layout.Traits().Grows {
		w.Opt.Records = 0
	} else {
		w.Schema = r.Schema.RecordsOnly()
		if w.Opt.Records > 0 {
			w.Limit = w.First + w.Opt.Records
		}
	}
	w.Info.Old, w.Sets = r.Manifest, len(r.Manifest.Sets)
	for i := range r.Manifest.Atts {
		w.AttBytes += int64(len(r.Manifest.Atts[i].Data) + len(r.Manifest.Atts[i].Name))
	}
	if r.Manifest.Piece != 0 {
		w.Opt.Piece = r.Manifest.Piece
	}
	if w.C.Rank() == 0 && w.First > 0 {
		w.EverPut = func(ctx context.Context) []int64 { return findEverPut(ctx, w) }
	}
}

// extend gives the schema of the writer the variables that are new. Collective.
func extend(ctx context.Context, w *write.Writer, r *read.Reader, more *dataset.Schema) error {
	s, added, err := w.Schema.Extended(more)
	if err == nil {
		_, err = r.Schema.WithAdded(added, s) // as whoever opens it will
	}
	if err = comm.Agree(ctx, w.C, err); err != nil { // ranks can have extended different states
		return err
	}
	w.Schema, w.Info.Added = s, added
	return nil
}

// prepareAppend takes the lease of the dataset, brings it to a clean state and gives it a manifest if it has none.
func prepareAppend(ctx context.Context, w *write.Writer, name string) error {
	o := &w.Opt
	found, err := subfile.Find(o.Fs, name)
	if err != nil {
		return err
	}
	if found.Single {
		return fault.Usage("append to %s: an ordinary file, want a dataset of subfiles", name)
	}
	if err := write.CheckName(found.Base); err != nil {
		return err
	}
	if err := w.Acquire(ctx, found.Base); err != nil {
		return err
	}
	if err := w.Share(); err != nil {
		return err
	}
	st, err := stateOf(o.Fs, found.Base, false)
	if err == nil && st.Manifest == nil && len(found.Members) == 0 {
		err = dataset.ErrNotCommitted
	}
	if err == nil {
		err = write.LeftBy(o.Fs, found.Base, st)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	m, err := subfile.Recover(o.Fs, found.Base, w.Ten.By())
	if err != nil {
		return err
	}
	if m != nil {
		w.Info.Was = m.ID
	}
	if err := w.Ten.Secure(m, o.Durability == dataset.DurableCommit); err != nil {
		return err
	}
	if m == nil && len(found.Members) == 0 {
		return fmt.Errorf("append to %s: %w", name, dataset.ErrNotCommitted)
	}
	if m == nil {
		w.Info.Was, err = adopt(ctx, found.Base, o, w.Ten)
	}
	return err
}

// chooseParts reports whether the last set of files grows, and prepares the engine for that, or for another set.
func chooseParts(w *write.Writer, r *read.Reader, parts []write.Part) (err error) {
	last := r.Sets[w.Sets-1]
	grows, alike := w.Opt.Layout.Traits().Grows, r.Manifest.SameMaps(&r.Manifest.Sets[w.Sets-1], w.Info.Ranks, w.Info.Subfiles, w.Info.Prints)
	if w.InPlace = grows && alike && len(w.Info.Added) == 0; w.InPlace {
		w.Sets--
	} else if _, err := write.CheckParts(r.Schema, parts, w.Opt.WideMaps); err != nil { // they were for maps that are there
		return err
	}
	if w.Lead {
		w.Eng.Base, w.Eng.First, w.Eng.From = w.First, w.First, w.First
	}
	if !grows || w.InPlace && w.Sets == 0 {
		if w.Lead && w.InPlace {
			w.Eng.Base = 0
		}
		return nil
	}
	w.Ids = write.RecordIDs(w.Schema)
	if !w.Lead {
		return nil
	}
	if err = w.Eng.Renew(w.Schema.RecordsOnly(), nil, w.First); err == nil && w.InPlace {
		w.Eng.Base = last.First
	}
	return err
}

// reopen gets the subfiles ready for the new records. Collective.
func reopen(ctx context.Context, w *write.Writer, r *read.Reader) error {
	e := w.Eng
	if w.Lead {
		e.Proc.Tenure.Store(w.Ten)
	}
	if !w.InPlace {
		w.Info.Rename = w.Info.Subfiles <= w.Opt.Renames
		set := subfile.SetBase(w.Base, w.Sets)
		var err error
		if w.C.Rank() == 0 {
			if err = w.Vacant(set); err == nil && dataset.LayoutGrows(w.Info.Old.Layout) { // a commit to the files of the last set was cut short
				err = settle(w.Opt.Fs, w.Base, w.Info.Old, w.Ten)
			}
			if err == nil {
				err = w.Announce()
			}
		}
		if err := comm.Agree(ctx, w.C, w.Ten.Explain(err)); err != nil {
			return err
		}
		return w.MakeFiles(ctx, set, nil)
	}
	var err error
	if w.Lead {
		// The file's own header decides where records lie: another program may align them.
		p := r.Sets[w.Sets].Parts[e.Index]
		if err = p.Load(); err == nil {
			pl, sh := *p.Place, *p.Place.Shape
			// In the file a map that is empty there has one element, which nobody writes.
			sh.Elems = e.Place.Shape.Elems
			pl.Shape = &sh
			e.Place = &pl
			e.Name, e.Final = p.Name, p.Name
			e.Appended, e.MapsOut = true, true
			e.End = p.Info.Size
			was := &w.Info.Old.Sets[w.Sets].Subfiles[e.Index]
			e.Coarse = int64(len(was.Pieces)) != e.Place.Pieces(e.Table, e.Sums.Piece).Total(w.First-e.Base) // an older program left them out
			e.Exts = e.Place.ExtentOrder()
			if e.Table.ID[0] == 0 {
				err = subfile.Unshare(w.Opt.Fs, e.Name, e.End, w.Ten.By(), w.Opt.Durability != dataset.DurableNone)
			}
			if err == nil && e.Table.ID[0] == 0 && p.Records != w.First-e.Base { // a commit was cut short before it moved the count
				err = e.MoveRecords(w.First, w.Opt.Durability != dataset.DurableNone)
			}
		}
	}
	return comm.Agree(ctx, w.C, w.Ten.Explain(err))
}
