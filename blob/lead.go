package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/subfile"
)

// lead returns the first subfile of a set that is there, whose header is read; with MissingLater the first one whose header can be read.
func (r *Reader) lead(s *set) (*filePart, error) {
	var first error
	for _, p := range s.parts {
		if p.gone() {
			continue
		}
		err := p.load()
		if err == nil {
			return p, nil
		}
		if r.manifest == nil || !r.opt.MissingLater || errors.Is(err, ErrBroken) || !errors.As(err, new(*FormatError)) || errors.As(err, new(*fs.PathError)) {
			return nil, err // another dataset by now, or an error of the file system, which may pass
		}
		if err := r.replacedLate(p.name); err != nil {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fault.In(r.base, "subfiles", ErrMissing, "none is here%s", r.leftBehind(s.parts[0].wanted()))
	}
	return nil, first
}

// leftBehind says so if a subfile that is missing is there under the name that the dataset had when its manifest was written.
func (r *Reader) leftBehind(name string) string {
	if r.manifest == nil || r.manifest.Was() == r.manifest.Base {
		return ""
	}
	was := filepath.Join(subfile.Dir(name), r.manifest.Was()+strings.TrimPrefix(filepath.Base(name), r.manifest.Base))
	if _, err := r.fs.Stat(was); err != nil {
		return ""
	}
	return fmt.Sprintf(", but %s, which the manifest was written for: it may be the same, not renamed", was)
}

// openFirst reads the header of the first subfile that is there, which tells
// the schema and how many subfiles there must be.
func (r *Reader) openFirst(found *subfile.Set, was *Reader) error {
	s := r.sets[0]
	lead, err := r.lead(s)
	if err != nil {
		return err
	}
	r.layout, r.schema = lead.place.layout, lead.place.schema
	s.schema = r.schema
	if r.manifest != nil {
		var since []int
		if r.schema, since, err = withManifest(r.schema, r.manifest, subfile.ManifestName(r.base), r.leadFrom); err != nil {
			return err
		}
		for _, k := range since {
			r.since = append(r.since, r.sets[k].first)
		}
	}
	if lead.place.Plain && !found.Single {
		return fault.At(lead.name, 0, "header", ErrNotFormat, "an ordinary netCDF file, not a blob subfile")
	}
	if r.manifest != nil && r.layout.String() != r.manifest.Layout {
		return fault.At(lead.name, lead.place.HeaderOff, "header", ErrCorrupt, "%v, the manifest says %s", r.layout, r.manifest.Layout)
	}
	if n := lead.place.Shape.Subfiles; r.manifest == nil && !lead.place.Plain {
		if found.Single && n != 1 {
			return fault.In(lead.name, "subfiles", ErrMissing, "%d, but the name of the file has no subfile number", n)
		}
		if n < len(s.parts) {
			return fault.At(lead.name, lead.place.Locate().GlobalAtt(attSubfiles), "attribute "+attSubfiles, ErrCorrupt, "%d, but there are subfiles up to number %d", n, len(s.parts)-1)
		}
		if n > len(s.parts)+maxMissing || n > len(s.parts) && !r.opt.AllowMissing {
			return fault.In(r.base, "subfiles", ErrMissing, "%d of %d missing, the first is %s", n-len(found.Members), n, firstMissing(found, r.base))
		}
		for i := len(s.parts); i < n; i++ {
			s.parts = append(s.parts, &filePart{r: r, index: i, name: subfile.Name(r.base, i)})
		}
	}
	if r.manifest != nil {
		r.records = r.manifest.Records
	} else {
		r.records = lead.records
		if r.opt.AllowMissing && lead.place.Grows {
			r.parallel(len(s.parts), func(i int) {
				if p := s.parts[i]; !p.gone() {
					_ = p.load() // kept, and told when the part is read
				}
			})
			for _, p := range s.parts {
				if p.place != nil { // the records that all have
					r.records = min(r.records, p.records)
				}
			}
		}
		s.records = r.records
		if err := roomForRecords(lead.place, lead.name, r.records); err != nil && !r.opt.AllowMissing {
			return err
		}
	}
	for _, s := range r.sets {
		s.vars = make([]VarID, len(r.schema.vars))
	}
	for v := range r.schema.vars {
		if s.vars[v] = VarID(v); v >= len(s.schema.vars) {
			s.vars[v] = -1
		}
	}
	r.maps = newMaps(r.opt.Maps)
	for _, f := range r.families {
		f.maps = make([]lazyMap, len(r.schema.decomps))
	}
	if err := r.lostCommits(); err != nil {
		return err
	}
	missing := r.missing(r.sets[r.seenBy(was):])
	if r.complete = len(missing) == 0; !r.complete && !r.opt.AllowMissing && (!r.opt.MissingLater || r.manifest == nil) {
		return fault.In(r.base, "subfiles", ErrMissing, "%d of %d missing, the first is %s%s", len(missing), r.numParts(), missing[0], r.leftBehind(missing[0]))
	}
	return nil
}

// withManifest is the schema of a dataset of whose first set of subfiles s is: with the variables that appends have added, and the attributes of the manifest.
// at gives a subfile, with its header, of set k or one behind it, nil if there is none: then what was added is left out. since are the sets that have
// the added variables first.
func withManifest(s *Schema, m *subfile.Manifest, name string, at func(k int) (*filePart, error)) (_ *Schema, since []int, err error) {
	var lost []string
	for k := range m.Sets {
		added := m.Sets[k].Added
		if len(added) == 0 {
			continue
		}
		p, err := at(k)
		if err != nil {
			return nil, nil, err
		}
		if p == nil {
			lost = append(lost, added...)
			continue
		}
		if s, err = s.withAdded(added, p.place.schema); err != nil {
			return nil, nil, fault.At(p.name, p.place.HeaderOff, "header", ErrCorrupt, "%v", err)
		}
		since = append(since, slices.Repeat([]int{k}, len(added))...)
	}
	atts := m.Atts
	if len(lost) > 0 {
		atts = slices.DeleteFunc(slices.Clone(atts), func(a subfile.AttInfo) bool { return slices.Contains(lost, a.Var) })
	}
	s, err = s.withAtts(atts, name)
	return s, since, err
}

// leadFrom is lead of the first set from k on of which there is a header; nil if what is missing does not matter and there is none.
func (r *Reader) leadFrom(k int) (*filePart, error) {
	for _, s := range r.sets[k:] {
		p, err := r.lead(s)
		lost := errors.Is(err, ErrMissing) && (r.opt.AllowMissing || r.opt.MissingLater)
		damaged := r.opt.MissingLater && errors.As(err, new(*FormatError)) && !errors.As(err, new(*fs.PathError))
		if err == nil || !lost && !damaged {
			return p, err
		}
	}
	return nil, nil
}

// seenBy returns how many sets an earlier state of the dataset has, of whose files all were there: what has been lost since, is told by who reads it.
func (r *Reader) seenBy(was *Reader) int {
	if was == nil || !was.complete || r.manifest == nil || was.manifest == nil || r.manifest.ID != was.manifest.ID {
		return 0
	}
	for k := range was.sets {
		if k == len(r.sets) || r.manifest.Sets[k].Base != was.manifest.Sets[k].Base || len(r.sets[k].parts) != len(was.sets[k].parts) {
			return k
		}
	}
	return len(was.sets)
}
