package blob

import (
	"context"
	"errors"
	"slices"

	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
)

// loadSet reads the headers and tables of all subfiles of a set, once. All of them must be right.
func (r *Reader) loadSet(ctx context.Context, s *set) error {
	_, err := r.loadOnce(ctx, s)
	return err
}

// loadParts is loadSet where subfiles may be damaged, or have gone since the dataset was opened, as long as the others can be read without
// them: filePart.bad tells.
func (r *Reader) loadParts(ctx context.Context, s *set) error {
	fatal, _ := r.loadOnce(ctx, s)
	return fatal
}

// loadOnce reads them, again where the process had too many files open.
func (r *Reader) loadOnce(ctx context.Context, s *set) (fatal, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if !s.loaded {
		s.blobs = 0
		s.fatal = r.readSet(ctx, s)
		s.err = s.fatal
		for _, p := range s.parts {
			if s.err == nil {
				s.err = p.bad
			}
		}
		s.loaded = !fault.Exhausted(s.fatal)
	}
	return s.fatal, s.err
}

func (r *Reader) readSet(ctx context.Context, s *set) error {
	var lead *filePart
	errs := make([]error, len(s.parts))
	r.parallel(len(s.parts), func(i int) {
		p := s.parts[i]
		if p.gone() {
			if errs[i] = r.replaced(p.wanted()); errs[i] == nil && !r.opt.AllowMissing {
				errs[i] = fault.In(p.wanted(), "subfile", ErrMissing, "not there")
			}
			return
		}
		errs[i] = p.load()
	})
	if err := s.spoil(errs, s.blobsOfMissing()); err != nil {
		return err
	}
	// Headers come before tables: what is wrong with a table follows, as a
	// rule, from a header that is of another dataset.
	absent := s.blobsOfMissing()
	for i, p := range s.parts {
		p.first = s.blobs
		if p.place == nil {
			s.blobs += absent[p] // 0 if it is not known
			continue
		}
		if lead == nil {
			lead = p
		} else if err := p.agrees(lead); err != nil {
			return err
		}
		if p.place.layout != r.layout {
			return fault.At(p.name, p.place.HeaderOff, "header", ErrCorrupt, "%v, the dataset is %v", p.place.layout, r.layout)
		}
		if errs[i] = p.place.Holds(p.name, p.records, max(s.places, s.records)); errs[i] != nil && r.manifest == nil {
			return errs[i]
		}
		s.blobs += p.place.Shape.Blobs
	}
	r.parallel(len(s.parts), func(i int) {
		if p := s.parts[i]; p.place != nil && !p.place.Plain && errs[i] == nil {
			errs[i] = p.loadTable(s.records)
		}
	})
	known := map[*filePart]int{}
	for _, p := range s.parts {
		if p.place != nil {
			known[p] = p.place.Shape.Blobs
		}
	}
	if err := s.spoil(errs, known); err != nil {
		return err
	}
	var pl *place // stays, though the part may be of no use
	if lead = s.firstPart(); lead != nil {
		pl = lead.place
	}
	if r.manifest == nil {
		for d := range r.schema.decomps {
			if err := s.plausible(d); err != nil {
				return err
			}
		}
	}
	if err := r.alignSet(ctx, s); err != nil {
		return err
	}
	if pl != nil && !pl.Plain && s.blobs != pl.Shape.Ranks && !r.opt.AllowMissing {
		return fault.At(lead.name, pl.Locate().GlobalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, but the subfiles hold %d blobs", pl.Shape.Ranks, s.blobs)
	}
	if s.schema == nil && pl != nil {
		vars, err := r.varsIn(lead.name, pl)
		if err != nil {
			return err
		}
		if err := r.sameBlobs(ctx, s, errs); err != nil {
			return err
		}
		if err := s.spoil(errs, known); err != nil {
			return err
		}
		s.schema, s.vars = pl.schema, vars
	}
	return nil
}

// spoil notes which parts cannot be read, and why. It is an error of the whole set if none is left, if it is not known how many blobs one
// has, or if the dataset is another by now.
func (s *set) spoil(errs []error, blobs map[*filePart]int) error {
	var first error
	left := 0
	for i, p := range s.parts {
		switch {
		case errs[i] == nil && p.place != nil:
			left++
		case errs[i] != nil && (blobs[p] == 0 || errors.Is(errs[i], ErrBroken) || fault.Exhausted(errs[i])):
			return errs[i]
		case errs[i] != nil && first == nil:
			first = errs[i]
		}
	}
	if first != nil && left == 0 {
		return first
	}
	for i, p := range s.parts {
		if errs[i] != nil {
			p.bad = errs[i]
			p.mu.Lock()
			p.place, p.table = nil, nil
			p.mu.Unlock()
		}
		errs[i] = nil
	}
	return nil
}

// blobsOfMissing tells how many blobs the subfiles hold that are not there, so
// that the others keep their numbers: from the manifest, or, if one only is
// missing, from what the others leave of the ranks. Where neither tells, the
// blobs that are there are numbered on.
func (s *set) blobsOfMissing() map[*filePart]int {
	known := map[*filePart]int{}
	left := -1
	var unknown []*filePart
	for _, p := range s.parts {
		switch {
		case p.place != nil:
			if left < 0 {
				left = p.place.Shape.Ranks
			}
		case p.info != nil && len(p.info.Blobs) > 1:
			known[p] = len(p.info.Blobs) - 1
		default:
			unknown = append(unknown, p)
		}
	}
	for _, p := range s.parts {
		if p.place != nil {
			left -= p.place.Shape.Blobs
		} else {
			left -= known[p]
		}
	}
	if len(unknown) == 1 && left > 0 {
		known[unknown[0]] = left
	}
	return known
}

// sameBlobs checks that a set has the blobs of the first one of its family, for
// its maps are those that are used. errs tells of the subfiles that have not.
func (r *Reader) sameBlobs(ctx context.Context, s *set, errs []error) error {
	first := s.family.home
	if s == first {
		return nil
	}
	if err := r.loadParts(ctx, first); err != nil {
		return err
	}
	for i, p := range s.parts {
		if q := first.parts[i]; p.table != nil && q.table != nil {
			errs[i] = p.sameBlobs(q)
		}
	}
	return nil
}

// sameBlobs is an error if the blobs of two subfiles differ in numbers of requests or elements.
func (p *filePart) sameBlobs(q *filePart) error {
	if slices.Equal(p.table.Count, q.table.Count) && slices.Equal(p.table.Nreqs, q.table.Nreqs) {
		return nil
	}
	return fault.At(p.name, p.place.DataOff, "maps", ErrMapMismatch, "the blobs have other numbers of requests or elements than %s", q.name)
}

// agrees is an error if the header of a subfile is of another dataset than another one's.
func (p *filePart) agrees(lead *filePart) error {
	r := p.r
	if err := sameDataset(lead.place, p.place, r.manifest != nil); err != nil {
		return fault.At(p.name, p.place.HeaderOff, "header", ErrCorrupt, "not of the same dataset as %s: %v", lead.name, err)
	}
	if err := p.sameRecords(lead); err != nil && r.manifest == nil && !r.opt.AllowMissing {
		return fault.At(p.name, layout.NumrecsAt, "numrecs", ErrMissing, "%v", err)
	}
	return nil
}

// varsIn says which variable of a set each variable of the dataset is, -1: it is not there. pl is of a subfile of the set.
func (r *Reader) varsIn(name string, pl *place) ([]VarID, error) {
	if err := r.schema.canFollow(pl.schema); err != nil {
		return nil, fault.At(name, pl.HeaderOff, "header", ErrCorrupt, "not of the same dataset as %s: %v", r.sets[0].parts[0].wanted(), err)
	}
	vars := make([]VarID, len(r.schema.vars))
	for v := range r.schema.vars {
		vars[v], _ = pl.schema.VarID(r.schema.vars[v].Name)
	}
	return vars, nil
}

// alignSet numbers the blobs of a set as those of the first set of its family,
// whose maps hold for all. If subfiles may be missing, one that is missing in
// the first set has no maps, so its part of another set is of no use either.
func (r *Reader) alignSet(ctx context.Context, s *set) error {
	first := s.family.home
	if s == first {
		return nil
	}
	if err := r.loadParts(ctx, first); err != nil {
		return err
	}
	for i, p := range s.parts {
		q := first.parts[i]
		p.first = q.first
		switch {
		case p.place == nil:
		case q.place == nil:
			p.bad = q.bad
			p.mu.Lock()
			p.place = nil
			p.mu.Unlock()
		case p.place.Shape.Blobs != q.place.Shape.Blobs:
			return fault.At(p.name, p.place.HeaderOff, "dimension "+layout.DimBlobs, ErrCorrupt, "%d, but %s has %d", p.place.Shape.Blobs, q.name, q.place.Shape.Blobs)
		}
	}
	return nil
}
