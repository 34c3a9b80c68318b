package blob

import (
	"context"
	"errors"

	"blobio/internal/base/fault"
	"blobio/subfile"
)

// adopt gives a dataset of another program a manifest, so that it can be
// appended to and checked. Nothing of its subfiles is changed, but for the pad behind the
// last variable, which other programs leave out. It returns the ID of the manifest.
func adopt(ctx context.Context, base string, o *settings, ten *tenure) (id string, err error) {
	w, r, subs, err := describe(ctx, base, o, ten, false, nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	m := w.newManifest(r.records, subs)
	sync := o.Durability == DurableCommit
	if err := subfile.WriteNext(o.fs, base, m, sync, ten.by()); err != nil {
		return "", err
	}
	return m.ID, subfile.Finish(o.fs, base, m, sync, ten.by())
}

// describe sums up the data of subfiles that no manifest lists. w and subs are what a manifest says of them. lost: they had one; then of files that grow the
// records are those that all have. cap, if it is there, says of how many records the first belong to the dataset. The caller closes r.
func describe(ctx context.Context, base string, o *settings, ten *tenure, lost bool, cap func(have int64, grows bool) int64) (w *Writer, r *Reader, subs []subfile.Subfile, err error) {
	if r, err = openWith(ctx, base, &OpenOptions{Workers: o.Workers, MaxOpen: o.MaxOpen, AllowMissing: lost}, knobs{fs: o.fs}); err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	s := r.sets[0]
	if missing := r.missing(r.sets); len(missing) > 0 {
		return nil, nil, nil, fault.At(missing[0], -1, "subfile", ErrMissing, "not there, nor are %d others", len(missing)-1)
	}
	n := r.records
	if cap != nil {
		n = cap(n, r.layout.traits().Grows)
	}
	if err := r.loadSet(ctx, s); err != nil {
		return nil, nil, nil, err
	}
	w = &Writer{schema: r.schema, base: base, ten: ten, opt: settings{Options: Options{Layout: r.layout}, knobs: knobs{piece: o.piece}}, info: datasetInfo{subfiles: len(s.parts)}}
	if s.parts[0].place.Packed != nil {
		w.opt.Compress.Method = AutoCompression // for the manifest to say so
		w.opt.piece = 0                         // chunks have their own checksums
	}
	prints := make([]int64, len(r.schema.decomps))
	subs = make([]subfile.Subfile, len(s.parts))
	for k, p := range s.parts {
		w.info.ranks = p.place.Shape.Ranks
		sf := &subs[k]
		*sf = subfile.Subfile{Size: p.place.FileSize(n), HeaderOff: p.place.HeaderOff, HeaderLen: p.place.HeaderLen}
		if p.size < sf.Size {
			if !p.place.Grows {
				return nil, nil, nil, fault.At(p.name, p.size, "file", ErrTruncated, "%d bytes, the header promises %d", p.size, sf.Size)
			}
			if _, end := p.place.LastPiece(n); p.size < end {
				return nil, nil, nil, fault.At(p.name, p.size, "file", ErrTruncated, "%d bytes, the header promises %d", p.size, sf.Size)
			}
			if err := addPad(o, p.name, sf.Size); err != nil {
				return nil, nil, nil, err
			}
		}
		if sf.HeaderCRC, err = p.headerCRC(); err != nil {
			return nil, nil, nil, err
		}
		sf.Blobs = p.place.ManifestBlobs(p.table.Blob)
		f, done, err := p.file()
		if err != nil {
			return nil, nil, nil, err
		}
		err = sumExtents(ctx, f, p.place, p.table, p.name, n, w.opt.piece, func(x extentSum) { // in the order of the extents
			sf.Extents = append(sf.Extents, x.crc)
			sf.Pieces = append(sf.Pieces, x.pieces...)
		}, func(int64) {})
		done()
		if err != nil {
			return nil, nil, nil, err
		}
		for d := range prints {
			m, err := r.Map(ctx, DecompID(d+1))
			if err != nil {
				return nil, nil, nil, err
			}
			prints[d] += mapPrint(m.Sub(p.first, p.place.Shape.Blobs), p.table, p.index)
		}
	}
	w.info.prints = printTexts(prints)
	return w, r, subs, nil
}

// addPad lengthens a subfile to its whole size.
func addPad(o *settings, name string, size int64) error {
	f, err := o.fs.OpenRW(name)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil && o.Durability == DurableCommit {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
