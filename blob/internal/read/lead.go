package read

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// lead returns the first existing subfile of a set, with its header. With MissingLater it returns the first subfile whose header
// can be read.
func (s *Set) lead() (*FilePart, error) {
	var first error
	for _, p := range s.Parts {
		if p.Gone() {
			continue
		}
		err := p.Load()
		if err == nil {
			return p, nil
		}
		if s.of.Files.Manifest == nil || !s.of.Files.Opt.MissingLater || errors.Is(err, dataset.ErrBroken) || !errors.As(err, new(*dataset.FormatError)) || errors.As(err, new(*fs.PathError)) {
			return nil, err // the dataset was replaced, or the file system failed, perhaps only for a moment
		}
		if err := s.of.Files.replacedLate(p.Name); err != nil {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fault.In(s.of.Files.Base, "subfiles", dataset.ErrMissing, "no subfile exists%s", s.of.Files.LeftBehind(s.Parts[0].Wanted()))
	}
	return nil, first
}

// LeftBehind returns a note if a missing subfile still exists under the name from before a rename of the dataset.
func (r *Files) LeftBehind(name string) string {
	if r.Manifest == nil || r.Manifest.Was() == r.Manifest.Base {
		return ""
	}
	was := filepath.Join(subfile.Dir(name), r.Manifest.Was()+strings.TrimPrefix(filepath.Base(name), r.Manifest.Base))
	if _, err := r.Fs.Stat(was); err != nil {
		return ""
	}
	return fmt.Sprintf(", but %s exists under the former name of the dataset and may be this file", was)
}

// openFirst reads the header of the first existing subfile, from which it takes the schema and the number of subfiles.
func (r *Data) openFirst(found *subfile.Set, was *Data) error {
	s := r.Sets[0]
	lead, err := s.lead()
	if err != nil {
		return err
	}
	r.Layout, r.Schema = lead.Place.Layout, lead.Place.Schema
	s.schema = r.Schema
	if r.Files.Manifest != nil {
		var since []int
		if r.Schema, since, err = WithManifest(r.Schema, r.Files.Manifest, subfile.ManifestName(r.Files.Base), r.leadFrom); err != nil {
			return err
		}
		for _, k := range since {
			r.since = append(r.since, r.Sets[k].First)
		}
	}
	if lead.Place.Plain && !found.Single {
		return fault.At(lead.Name, 0, "header", dataset.ErrNotFormat, "the file is an ordinary netCDF file, not a blob subfile")
	}
	if r.Files.Manifest != nil && r.Layout.String() != r.Files.Manifest.Layout {
		return fault.At(lead.Name, lead.Place.Header.Off, "header", dataset.ErrCorrupt, "the layout is %v, but the manifest says %s", r.Layout, r.Files.Manifest.Layout)
	}
	if n := lead.Place.Shape.Subfiles; r.Files.Manifest == nil && !lead.Place.Plain {
		if found.Single && n != 1 {
			return fault.In(lead.Name, "subfiles", dataset.ErrMissing, "the dataset has %d subfiles, but the file name has no subfile number", n)
		}
		if n < len(s.Parts) {
			return fault.At(lead.Name, lead.Place.Header.Locate().GlobalAtt(dataset.AttSubfiles), "attribute "+dataset.AttSubfiles, dataset.ErrCorrupt, "the value is %d, but subfiles up to number %d exist", n, len(s.Parts)-1)
		}
		if n > len(s.Parts)+MaxMissing || n > len(s.Parts) && !r.Files.Opt.AllowMissing {
			return fault.In(r.Files.Base, "subfiles", dataset.ErrMissing, "%d of %d are missing, the first is %s", n-len(found.Members), n, firstMissing(found, r.Files.Base))
		}
		for i := len(s.Parts); i < n; i++ {
			s.Parts = append(s.Parts, &FilePart{Files: r.Files, Index: i, Name: subfile.Name(r.Files.Base, i)})
		}
	}
	if r.Files.Manifest != nil {
		r.Records = r.Files.Manifest.Records
	} else {
		r.Records = lead.Records
		if r.Files.Opt.AllowMissing && lead.Place.Grows {
			r.Files.parallel(len(s.Parts), func(i int) {
				if p := s.Parts[i]; !p.Gone() {
					_ = p.Load() // Load keeps the error and returns it again when the part is read
				}
			})
			for _, p := range s.Parts {
				if p.Place != nil { // minimum over the subfiles
					r.Records = min(r.Records, p.Records)
				}
			}
		}
		s.Records = r.Records
		if err := roomForRecords(lead.Place, lead.Name, r.Records); err != nil && !r.Files.Opt.AllowMissing {
			return err
		}
	}
	for _, s := range r.Sets {
		s.vars = make([]dataset.VarID, len(r.Schema.Vars))
	}
	for v := range r.Schema.Vars {
		if s.vars[v] = dataset.VarID(v); v >= len(s.schema.Vars) {
			s.vars[v] = -1
		}
	}
	for _, f := range r.Families {
		f.Maps = make([]lazyMap, len(r.Schema.Decomps))
	}
	if err := r.lostCommits(); err != nil {
		return err
	}
	missing := r.MissingIn(r.Sets[r.seenBy(was):])
	if r.complete = len(missing) == 0; !r.complete && !r.Files.Opt.AllowMissing && (!r.Files.Opt.MissingLater || r.Files.Manifest == nil) {
		return fault.In(r.Files.Base, "subfiles", dataset.ErrMissing, "%d of %d are missing, the first is %s%s", len(missing), r.NumParts(), missing[0], r.Files.LeftBehind(missing[0]))
	}
	return nil
}

// WithManifest returns the schema of a dataset whose first set has schema s, with the variables that appends have added and the
// attributes of the manifest. at must return a subfile with its header from set k or a later set, or nil. If it returns nil, the
// variables added in set k are left out. since has, for each added variable, the number of the first set with the variable.
func WithManifest(s *dataset.Schema, m *subfile.Manifest, name string, at func(k int) (*FilePart, error)) (_ *dataset.Schema, since []int, err error) {
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
		if s, err = s.WithAdded(added, p.Place.Schema); err != nil {
			return nil, nil, fault.At(p.Name, p.Place.Header.Off, "header", dataset.ErrCorrupt, "%v", err)
		}
		since = append(since, slices.Repeat([]int{k}, len(added))...)
	}
	atts := m.Atts
	if len(lost) > 0 {
		atts = slices.DeleteFunc(slices.Clone(atts), func(a subfile.AttInfo) bool { return slices.Contains(lost, a.Var) })
	}
	s, err = s.WithAtts(atts, name)
	return s, since, err
}

// leadFrom returns lead of the first set, from set k on, that has a header. If no set has one and the options allow missing
// files, it returns nil.
func (r *Data) leadFrom(k int) (*FilePart, error) {
	for _, s := range r.Sets[k:] {
		p, err := s.lead()
		lost := errors.Is(err, dataset.ErrMissing) && (r.Files.Opt.AllowMissing || r.Files.Opt.MissingLater)
		damaged := r.Files.Opt.MissingLater && errors.As(err, new(*dataset.FormatError)) && !errors.As(err, new(*fs.PathError))
		if err == nil || !lost && !damaged {
			return p, err
		}
	}
	return nil, nil
}

// seenBy returns the number of sets in an earlier state whose files all existed. If one of these files was lost since then, the
// call that reads the file returns the error.
func (r *Data) seenBy(was *Data) int {
	if was == nil || !was.complete || r.Files.Manifest == nil || was.Files.Manifest == nil || r.Files.Manifest.ID != was.Files.Manifest.ID {
		return 0
	}
	for k := range was.Sets {
		if k == len(r.Sets) || r.Files.Manifest.Sets[k].Base != was.Files.Manifest.Sets[k].Base || len(r.Sets[k].Parts) != len(was.Sets[k].Parts) {
			return k
		}
	}
	return len(was.Sets)
}
