package read

import (
	"context"
	"errors"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
)

// Load reads the headers and tables of all subfiles of a set, once. It fails if any subfile is damaged.
func (s *Set) Load(ctx context.Context) error {
	_, err := s.loadOnce(ctx)
	return err
}

// LoadParts is like Load, but accepts damaged or lost subfiles as long as the others can be read without them. FilePart.bad has
// the error of each such subfile.
func (s *Set) LoadParts(ctx context.Context) error {
	fatal, _ := s.loadOnce(ctx)
	return fatal
}

// loadOnce reads headers and tables. After an error because of too many open files, the next call tries again.
func (s *Set) loadOnce(ctx context.Context) (fatal, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if !s.loaded {
		s.blobs = 0
		s.fatal = s.read(ctx)
		s.err = s.fatal
		for _, p := range s.Parts {
			if s.err == nil {
				s.err = p.bad
			}
		}
		s.loaded = !fault.Exhausted(s.fatal)
	}
	return s.fatal, s.err
}

func (s *Set) read(ctx context.Context) error {
	var lead *FilePart
	errs := make([]error, len(s.Parts))
	s.of.Files.parallel(len(s.Parts), func(i int) {
		p := s.Parts[i]
		if p.Gone() {
			if errs[i] = s.of.Files.Replaced(p.Wanted()); errs[i] == nil && !s.of.Files.Opt.AllowMissing {
				errs[i] = fault.In(p.Wanted(), "subfile", dataset.ErrMissing, "missing")
			}
			return
		}
		errs[i] = p.Load()
	})
	if err := s.spoil(errs, s.blobsOfMissing()); err != nil {
		return err
	}
	// Headers are compared before tables, because with a header of another dataset the table is usually wrong too.
	absent := s.blobsOfMissing()
	for i, p := range s.Parts {
		p.First = s.blobs
		if p.Place == nil {
			s.blobs += absent[p] // 0 if the number is unknown
			continue
		}
		if lead == nil {
			lead = p
		} else if err := p.agrees(lead); err != nil {
			return err
		}
		if p.Place.Layout != s.of.Layout {
			return fault.At(p.Name, p.Place.Header.Off, "header", dataset.ErrCorrupt, "the subfile is %v, but the dataset is %v", p.Place.Layout, s.of.Layout)
		}
		if errs[i] = p.Place.Holds(p.Name, p.Records, max(s.places, s.Records)); errs[i] != nil && s.of.Files.Manifest == nil {
			return errs[i]
		}
		s.blobs += p.Place.Shape.Blobs
	}
	s.of.Files.parallel(len(s.Parts), func(i int) {
		if p := s.Parts[i]; p.Place != nil && !p.Place.Plain && errs[i] == nil {
			errs[i] = p.loadTable(s.Records)
		}
	})
	known := map[*FilePart]int{}
	for _, p := range s.Parts {
		if p.Place != nil {
			known[p] = p.Place.Shape.Blobs
		}
	}
	if err := s.spoil(errs, known); err != nil {
		return err
	}
	var pl *dataset.Place // kept even if the part later proves unusable
	if lead = s.FirstPart(); lead != nil {
		pl = lead.Place
	}
	if s.of.Files.Manifest == nil {
		for d := range s.of.Schema.Decomps {
			if err := s.Plausible(d); err != nil {
				return err
			}
		}
	}
	if err := s.align(ctx); err != nil {
		return err
	}
	if pl != nil && !pl.Plain && s.blobs != pl.Shape.Ranks && !s.of.Files.Opt.AllowMissing {
		return fault.At(lead.Name, pl.Header.Locate().GlobalAtt(dataset.AttNprocs), "attribute "+dataset.AttNprocs, dataset.ErrCorrupt, "the value is %d, but the subfiles hold %d blobs", pl.Shape.Ranks, s.blobs)
	}
	if s.schema == nil && pl != nil {
		vars, err := s.of.varsIn(lead.Name, pl)
		if err != nil {
			return err
		}
		if err := s.sameBlobs(ctx, errs); err != nil {
			return err
		}
		if err := s.spoil(errs, known); err != nil {
			return err
		}
		s.schema, s.vars = pl.Schema, vars
	}
	return nil
}

// spoil records the parts that cannot be read, with their errors. The whole set fails if no part is left, if the number of blobs
// of a part is unknown, or if the dataset was replaced.
func (s *Set) spoil(errs []error, blobs map[*FilePart]int) error {
	var first error
	left := 0
	for i, p := range s.Parts {
		switch {
		case errs[i] == nil && p.Place != nil:
			left++
		case errs[i] != nil && (blobs[p] == 0 || errors.Is(errs[i], dataset.ErrBroken) || fault.Exhausted(errs[i])):
			return errs[i]
		case errs[i] != nil && first == nil:
			first = errs[i]
		}
	}
	if first != nil && left == 0 {
		return first
	}
	for i, p := range s.Parts {
		if errs[i] != nil {
			p.bad = errs[i]
			p.mu.Lock()
			p.Place, p.Table = nil, nil
			p.mu.Unlock()
		}
		errs[i] = nil
	}
	return nil
}

// blobsOfMissing returns the number of blobs of each missing subfile, so that the blobs of the others keep their numbers. It
// takes the number from the manifest. Without a manifest, a single missing subfile has the ranks that the others lack. If several
// are missing, their numbers stay unknown, and the existing blobs are numbered without gaps.
func (s *Set) blobsOfMissing() map[*FilePart]int {
	known := map[*FilePart]int{}
	left := -1
	var unknown []*FilePart
	for _, p := range s.Parts {
		switch {
		case p.Place != nil:
			if left < 0 {
				left = p.Place.Shape.Ranks
			}
		case p.Info != nil && len(p.Info.Blobs) > 1:
			known[p] = len(p.Info.Blobs) - 1
		default:
			unknown = append(unknown, p)
		}
	}
	for _, p := range s.Parts {
		if p.Place != nil {
			left -= p.Place.Shape.Blobs
		} else {
			left -= known[p]
		}
	}
	if len(unknown) == 1 && left > 0 {
		known[unknown[0]] = left
	}
	return known
}

// sameBlobs checks that the set has the same blobs as the first set of its family, which provides the maps. It sets errs for the
// subfiles that differ.
func (s *Set) sameBlobs(ctx context.Context, errs []error) error {
	first := s.family.Home
	if s == first {
		return nil
	}
	if err := first.LoadParts(ctx); err != nil {
		return err
	}
	for i, p := range s.Parts {
		if q := first.Parts[i]; p.Table != nil && q.Table != nil {
			errs[i] = p.sameBlobs(q)
		}
	}
	return nil
}

// sameBlobs returns an error if the blobs of two subfiles differ in their numbers of requests or elements.
func (p *FilePart) sameBlobs(q *FilePart) error {
	if slices.Equal(p.Table.Count, q.Table.Count) && slices.Equal(p.Table.Nreqs, q.Table.Nreqs) {
		return nil
	}
	return fault.At(p.Name, p.Place.DataOff, "maps", dataset.ErrMapMismatch, "the numbers of requests or elements in the blobs differ from %s", q.Name)
}

// agrees returns an error if the header of p and the header of lead belong to different datasets.
func (p *FilePart) agrees(lead *FilePart) error {
	if err := SameDataset(lead.Place, p.Place, p.Files.Manifest != nil); err != nil {
		return fault.At(p.Name, p.Place.Header.Off, "header", dataset.ErrCorrupt, "this file and %s belong to different datasets: %v", lead.Name, err)
	}
	if err := p.SameRecords(lead); err != nil && p.Files.Manifest == nil && !p.Files.Opt.AllowMissing {
		return fault.At(p.Name, layout.NumrecsAt, "numrecs", dataset.ErrMissing, "%v", err)
	}
	return nil
}

// varsIn returns, for each variable of the dataset, its id in a set, or -1. pl is the Place of a subfile of the set.
func (r *Data) varsIn(name string, pl *dataset.Place) ([]dataset.VarID, error) {
	if err := r.Schema.CanFollow(pl.Schema); err != nil {
		return nil, fault.At(name, pl.Header.Off, "header", dataset.ErrCorrupt, "this file and %s belong to different datasets: %v", r.Sets[0].Parts[0].Wanted(), err)
	}
	ids := pl.Schema.VarIDs()
	vars := make([]dataset.VarID, len(r.Schema.Vars))
	for v := range r.Schema.Vars {
		id, ok := ids[r.Schema.Vars[v].Name]
		if !ok {
			id = -1
		}
		vars[v] = id
	}
	return vars, nil
}

// align gives the blobs of a set the same numbers as the blobs in the first set of its family, which provides the maps. If a
// subfile is missing in the first set, its maps are unknown, so the same subfile is unusable in every set of the family.
func (s *Set) align(ctx context.Context) error {
	first := s.family.Home
	if s == first {
		return nil
	}
	if err := first.LoadParts(ctx); err != nil {
		return err
	}
	for i, p := range s.Parts {
		q := first.Parts[i]
		p.First = q.First
		switch {
		case p.Place == nil:
		case q.Place == nil:
			p.bad = q.bad
			p.mu.Lock()
			p.Place = nil
			p.mu.Unlock()
		case p.Place.Shape.Blobs != q.Place.Shape.Blobs:
			return fault.At(p.Name, p.Place.Header.Off, "dimension "+layout.DimBlobs, dataset.ErrCorrupt, "%d blobs, but %s has %d", p.Place.Shape.Blobs, q.Name, q.Place.Shape.Blobs)
		}
	}
	return nil
}
