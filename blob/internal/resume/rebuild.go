package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// lostState returns an error if a dataset had a manifest that is damaged or gone. With force, damage of a log also counts, and
// damage of an announcement that may have been a commit; old is then the readable part of the manifest.
func lostState(fsys vfs.FS, base string, force bool) (old *subfile.Manifest, lost error) {
	st, err := subfile.ReadForced(fsys, base)
	switch {
	case errors.As(err, new(*dataset.FormatError)):
		return nil, err
	case err != nil:
		return nil, nil // Recover finds the same error later
	case st.Manifest == nil:
		return nil, read.Orphaned(fsys, base)
	case !force:
		return nil, nil
	}
	if lost = st.Lost; lost == nil {
		lost = lostIn(fsys, base, st)
	}
	return st.Manifest, lost
}

// forcible adds to an error of Recover how to force the recovery.
func forcible(err error) error {
	return fmt.Errorf("%w; blobio recover --force (RecoverOptions.Force) rebuilds the manifest from the headers, the data and what is left of the manifest", err)
}

// stateOf is subfile.ReadState for a dataset that is not in a clean state yet. Lost commits are an error, unless force gives
// them up.
func stateOf(fsys vfs.FS, base string, force bool) (*subfile.State, error) {
	load := subfile.ReadState
	if force {
		load = subfile.ReadForced
	}
	for {
		st, err := load(fsys, base)
		if err != nil || force {
			return st, err
		}
		lost := lostIn(fsys, base, st)
		if lost == nil {
			return st, nil
		}
		again, err := load(fsys, base)
		if err != nil || (read.Standing{State: again, Err: nil}).Same(read.Standing{State: st, Err: nil}) {
			return nil, lost
		}
	}
}

// lostIn is read.LostCommits for the files of the last set. While a commit is pending, the names of these files may still belong
// to files that the commit replaces.
func lostIn(fsys vfs.FS, base string, st *subfile.State) error {
	m := st.Manifest
	if m == nil || st.Pending {
		return nil
	}
	if !dataset.LayoutGrows(m.Layout) {
		return read.LostSets(fsys, base, m)
	}
	have := m.Last().Records
	return lease.EachGrown(fsys, base, m, func(name string, records, size, _ int64) error {
		if records <= have {
			return nil
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		pl, records, err := dataset.DecodePlace(f, size, filepath.Clean(name), 0)
		if err != nil { // a later read of the file returns the error
			return nil
		}
		if is, err := lease.OfManifest(fsys, name, m); !is { // the file belongs to another dataset
			return err
		}
		return read.LostCommits(pl, name, size, records, have)
	})
}

// bare is a file system that hides the manifest of one dataset.
type bare struct {
	vfs.FS
	base string
}

func (b bare) hides(name string) bool {
	name = filepath.Clean(name)
	return name == filepath.Clean(subfile.ManifestName(b.base)) || name == filepath.Clean(subfile.NextName(b.base))
}

func (b bare) Open(name string) (vfs.File, error) {
	if b.hides(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return b.FS.Open(name)
}

func (b bare) Stat(name string) (fs.FileInfo, error) {
	if b.hides(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return b.FS.Stat(name)
}

func rebuildStep(base string) Step {
	return Step{subfile.ManifestName(base), "rebuild the manifest from the headers, the data and what is left of the manifest: the manifest or its log is damaged or lost"}
}

// rebuild makes a new manifest for a dataset that has lost its own. It uses the headers and data of all sets, the number of
// records of a log, and the readable part of the old manifest, which may be nil.
func rebuild(ctx context.Context, o *dataset.Settings, base string, ten *lease.Tenure, old *subfile.Manifest) (steps []Step, err error) {
	steps = []Step{rebuildStep(base)}
	orphans, err := subfile.Orphans(o.Fs, base, dataset.HoldsSubfile(o.Fs))
	if err != nil {
		return nil, err
	}
	left, log, err := subfile.LogRecords(o.Fs, base)
	if err != nil {
		return nil, err
	}
	var sets []string
	for _, name := range append([]string{subfile.Name(base, 0)}, orphans...) {
		if set, _, _ := subfile.Split(name); !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	in := *o
	in.Fs = bare{o.Fs, base}
	if old != nil && old.Piece > 0 {
		in.Piece = old.Piece
	}
	if in.Piece == 0 {
		in.Piece = checksum.DefaultPiece
	}
	var m *subfile.Manifest
	known := map[string]bool{}
	for k := range sets {
		set := subfile.SetBase(base, k)
		if !slices.Contains(sets, set) {
			return nil, fault.At(subfile.Name(set, 0), -1, "subfile", dataset.ErrMissing, "missing, but later sets exist: %v", sets)
		}
		if err := func() error {
			first, have, places := int64(0), int64(0), int64(0)
			if m != nil {
				first = m.Records
			}
			if k == len(sets)-1 {
				if err := countUp(in.Fs, set, left-first, ten); err != nil {
					return err
				}
			}
			w, r, subs, err := describe(ctx, set, &in, ten, true, func(n int64, grows bool) int64 {
				if have, places = n, n; !grows && left > first && left < first+n { // the set has room for more records than the log has
					have = left - first
				}
				return have
			})
			if err != nil {
				return err
			}
			defer r.Close()
			s := subfile.SetInfo{Base: filepath.Base(set), First: first, Records: have, Subfiles: subs}
			if old != nil && k < len(old.Sets) {
				s.Subfiles = keepSums(subs, &old.Sets[k])
			}
			if have < places {
				s.Room = places
			}
			if m == nil {
				m = w.Commits.Head(0)
				m.Unverified = true
				if old != nil {
					m.ID, m.Atts = old.ID, old.Atts
				}
			}
			if h := w.Commits.Head(0); k > 0 && !(h.Ranks == m.Ranks && slices.Equal(h.Maps, m.Maps)) {
				s.Ranks, s.Maps = h.Ranks, h.Maps
			} else if h.Codec != "" {
				m.Codec = h.Codec
			}
			for v := range r.Data.Schema.Vars {
				name := r.Data.Schema.Vars[v].Name
				if k > 0 && !known[name] {
					s.Added = append(s.Added, name)
				}
				known[name] = true
			}
			m.Sets, m.Records = append(m.Sets, s), first+s.Records
			return nil
		}(); err != nil {
			return nil, err
		}
	}
	if left > m.Records {
		steps = append(steps, Step{log, fmt.Sprintf("discard records %d to %d: the headers do not count them", m.Records, left-1)})
	}
	write.LimitPieces(m, in.Piece)
	err = subfile.WriteNext(o.Fs, base, m, true, ten.By())
	if err == nil {
		err = subfile.Finish(o.Fs, base, m, true, ten.By())
	}
	return steps, err
}

// keepSums puts the checksums of the old manifest in place of the new ones of a set.
func keepSums(subs []subfile.Subfile, was *subfile.SetInfo) []subfile.Subfile {
	if len(was.Subfiles) != len(subs) {
		return subs
	}
	for k := range subs {
		have, known := &subs[k], &was.Subfiles[k]
		have.HeaderCRC = known.HeaderCRC
		copy(have.Extents, known.Extents)
		copy(have.Pieces, known.Pieces)
	}
	return subs
}

// countUp raises the number of records in the headers of growing files to the number in a log, if the files have enough data,
// because a commit may have been interrupted before it changed the number.
func countUp(fsys vfs.FS, set string, records int64, ten *lease.Tenure) error {
	found, err := subfile.Find(fsys, set)
	if err != nil || records <= 0 {
		return err
	}
	for _, name := range found.Members {
		err := func() error {
			f, err := fsys.OpenRW(name)
			if err != nil {
				return err
			}
			defer f.Close()
			size, err := f.Size()
			if err != nil {
				return err
			}
			pl, have, err := dataset.DecodePlace(f, size, name, 0)
			if err != nil || !pl.Grows || have >= records || !read.Reaches(pl, size, records) {
				return nil // describe finds and returns the error
			}
			if err = ten.Check(); err == nil {
				err = lease.SetRecords(f, records)
			}
			if err == nil {
				err = f.Sync()
			}
			return err
		}()
		if err != nil {
			return err
		}
	}
	return nil
}
