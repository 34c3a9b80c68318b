package resume

import (
	"context"
	"errors"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// adopt gives a dataset without a manifest a manifest, so that it can be appended to and checked. In the subfiles it only adds
// the padding after the last variable, which other programs leave out. It returns the ID of the manifest.
func adopt(ctx context.Context, base string, o *dataset.Settings, ten *lease.Tenure) (id string, err error) {
	w, r, subs, err := describe(ctx, base, o, ten, false, nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	m := w.Commits.NewManifest(r.Data.Records, subs)
	sync := o.Durability == dataset.DurableCommit
	if err := subfile.WriteNext(o.Fs, base, m, sync, ten.By()); err != nil {
		return "", err
	}
	return m.ID, subfile.Finish(o.Fs, base, m, sync, ten.By())
}

// describe computes the checksums of subfiles without a manifest. w and subs have the contents of the new manifest. If lost is
// true, the dataset has lost its manifest, and the number of records in growing files is the minimum over all files. If cap is
// not nil, it returns how many of the records belong to the dataset. The caller closes r.
func describe(ctx context.Context, base string, o *dataset.Settings, ten *lease.Tenure, lost bool, cap func(have int64, grows bool) int64) (w *write.Writer, r *read.Reader, subs []subfile.Subfile, err error) {
	if r, err = read.OpenWith(ctx, base, &read.OpenOptions{Workers: o.Workers, MaxOpen: o.MaxOpen, AllowMissing: lost}, dataset.Knobs{Fs: o.Fs}); err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	s := r.Data.Sets[0]
	if missing := r.Data.MissingIn(r.Data.Sets); len(missing) > 0 {
		return nil, nil, nil, fault.At(missing[0], -1, "subfile", dataset.ErrMissing, "this subfile and %d others are missing", len(missing)-1)
	}
	n := r.Data.Records
	if cap != nil {
		n = cap(n, r.Data.Layout.Traits().Grows)
	}
	if err := s.Load(ctx); err != nil {
		return nil, nil, nil, err
	}
	w = write.NewWriter(&write.Job{Schema: r.Data.Schema, Base: base, Ten: ten, Opt: dataset.Settings{Options: dataset.Options{Layout: r.Data.Layout}, Knobs: dataset.Knobs{Piece: o.Piece}}, Subfiles: len(s.Parts)})
	if s.Parts[0].Place.Packed != nil {
		w.Job.Opt.Compress.Method = dataset.AutoCompression // so that the manifest marks the set as compressed
		w.Job.Opt.Piece = 0                                 // chunks have their own checksums
	}
	prints := make([]int64, len(r.Data.Schema.Decomps))
	subs = make([]subfile.Subfile, len(s.Parts))
	for k, p := range s.Parts {
		w.Job.Ranks = p.Place.Shape.Ranks
		sf := &subs[k]
		*sf = subfile.Subfile{Size: p.Place.FileSize(n), HeaderOff: p.Place.Header.Off, HeaderLen: p.Place.Header.Len}
		if p.Size < sf.Size {
			if !p.Place.Grows {
				return nil, nil, nil, fault.At(p.Name, p.Size, "file", dataset.ErrTruncated, "the file has %d bytes, but its header requires %d", p.Size, sf.Size)
			}
			if _, end := p.Place.Header.LastPiece(n); p.Size < end {
				return nil, nil, nil, fault.At(p.Name, p.Size, "file", dataset.ErrTruncated, "the file has %d bytes, but its header requires %d", p.Size, sf.Size)
			}
			if err := addPad(o, p.Name, sf.Size); err != nil {
				return nil, nil, nil, err
			}
		}
		if sf.HeaderCRC, err = p.HeaderCRC(); err != nil {
			return nil, nil, nil, err
		}
		sf.Blobs = p.Place.ManifestBlobs(p.Table.Blob)
		f, done, err := p.File()
		if err != nil {
			return nil, nil, nil, err
		}
		sums := read.ExtentSums{Part: p, File: f, Records: n, Piece: w.Job.Opt.Piece, Progress: func(int64) {}}
		err = sums.Read(ctx, func(x read.ExtentSum) { // in the order of the extents
			sf.Extents = append(sf.Extents, x.Crc)
			sf.Pieces = append(sf.Pieces, x.Pieces...)
		})
		done()
		if err != nil {
			return nil, nil, nil, err
		}
		for d := range prints {
			m, err := r.Now().Maps.Map(ctx, dataset.DecompID(d+1))
			if err != nil {
				return nil, nil, nil, err
			}
			prints[d] += dataset.MapPrint(m.Sub(p.First, p.Place.Shape.Blobs), p.Table, p.Index)
		}
	}
	w.Commits.MapPrints = dataset.PrintTexts(prints)
	return w, r, subs, nil
}

// addPad extends a subfile to its full size.
func addPad(o *dataset.Settings, name string, size int64) error {
	f, err := o.Fs.OpenRW(name)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil && o.Durability == dataset.DurableCommit {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
