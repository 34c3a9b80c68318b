package versioned

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"blobio/internal/base/fault"
)

// record makes that of the versions of which all is there.
func (s *salvage) record(ctx context.Context) (*record, error) {
	last := s.files[0].about
	for _, f := range s.files {
		if f.about.Seq > last.Seq {
			last = f.about
		}
	}
	rec := &record{SealHead: records.Head(last.Seq + 1), Spec: last.Spec, Order: last.Order, Key: last.Key}
	versions, gens := map[int64]verInfo{}, map[int]geometry{}
	use := s.files[:0]
	for _, f := range s.files {
		x := f.about
		if x.Spec.Type != last.Spec.Type || x.Spec.Chunk != last.Spec.Chunk || x.Order != last.Order || x.Key != last.Key ||
			slices.ContainsFunc(x.Generations, func(g geometry) bool { o, ok := gens[g.ID]; return ok && o != g }) {
			s.leave(f.info.Name, "describes the array differently from %s of commit %d", last.Spec.Name, last.Seq)
			continue
		}
		use = append(use, f)
		rec.Files = append(rec.Files, f.info)
		for _, g := range x.Generations {
			gens[g.ID] = g
		}
		for i, v := range x.Versions {
			if o, ok := versions[v.Number]; !ok || v.Generation > o.Generation || v.Generation == o.Generation && i < len(x.Versions)-1 { // later files know all of it
				versions[v.Number] = v
			}
		}
	}
	s.files = use
	for _, g := range gens {
		rec.Generations = append(rec.Generations, g)
	}
	slices.SortFunc(rec.Generations, func(x, y geometry) int { return cmp.Compare(x.ID, y.ID) })
	for _, v := range versions {
		if _, ok := rec.generation(v.Generation); ok {
			rec.Versions = append(rec.Versions, v)
		}
	}
	slices.SortFunc(rec.Versions, func(x, y verInfo) int { return cmp.Compare(x.Number, y.Number) })
	name := filepath.Join(s.dir, recordName)
	if len(rec.Versions) > 0 {
		rec.Spec.Shape = rec.Versions[len(rec.Versions)-1].Shape
	}
	if err := rec.check(name); err != nil { // what files say is held against what a record can say
		return nil, err
	}
	if err := s.whole(ctx, rec); err != nil {
		return nil, err
	}
	if len(rec.Versions) == 0 {
		return nil, fault.In(s.dir, "", ErrMissing, "no version is complete")
	}
	rec.Spec.Shape = slices.Clone(rec.Versions[len(rec.Versions)-1].Shape)
	return rec, rec.check(name)
}

// whole leaves those versions in a record of which every chunk is there, and the files that they need.
func (s *salvage) whole(ctx context.Context, rec *record) error {
	t, err := parseType(rec.Spec.Type)
	if err != nil {
		return err
	}
	opt := (&Options{}).withDefaults()
	cat, err := newCatalog(rec, t, []*nodeStore{{s.fsys, s.dir}}, 0, &opt)
	if err != nil {
		return err
	}
	defer cat.close()
	all := rec.clone()
	needed := map[string]bool{}
	rec.Versions = nil
	for i := range rec.Files {
		if err := cat.oldest(ctx, &rec.Files[i]); err != nil {
			return err
		}
	}
	for i := range all.Versions {
		v := &all.Versions[i]
		g, _ := all.generation(v.Generation)
		files, ok, err := cat.stateOf(ctx, g, v)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for f := range files {
			needed[f] = true
		}
		rec.Versions = append(rec.Versions, *v)
	}
	dead := map[string]bool{}
	for i := range all.Files {
		f := &all.Files[i]
		if !needed[f.Name] {
			dead[f.Name] = true
			s.leave(f.Name, "no complete version needs it")
		}
	}
	if len(rec.Versions) > 0 {
		last := rec.Versions[len(rec.Versions)-1].Generation
		rec.Generations = slices.DeleteFunc(rec.Generations, func(g geometry) bool { return g.ID > last })
		rec.prune(dead)
	}
	for i := range rec.Versions {
		rec.Versions[i].weighFiles(rec)
	}
	return nil
}

// weighFiles sums up what the files of a version say, which they did not know when they were written.
func (v *verInfo) weighFiles(rec *record) {
	if v.Written > 0 {
		return
	}
	for i := range rec.Files {
		if f := &rec.Files[i]; f.Gen == v.Generation && f.Born == v.Number {
			v.Written += f.Size
		}
	}
}
