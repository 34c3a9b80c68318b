package check

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// CheckOptions is blob.CheckOptions.
type CheckOptions struct {
	Quick    bool                    // check structure and maps only; read no data and compare no checksums
	Workers  int                     // default: GOMAXPROCS
	MaxOpen  int                     // default 256
	Progress func(done, total int64) // receives bytes; called often, by several goroutines
	FS       vfs.FS                  // file system of the files; nil: the operating system's
}

// Check is blob.Check.
func Check(ctx context.Context, path string, o *CheckOptions) iter.Seq[dataset.Finding] {
	if o != nil {
		return CheckWith(ctx, path, o, dataset.Knobs{Fs: o.FS})
	}
	return CheckWith(ctx, path, o, dataset.Knobs{})
}

func CheckWith(ctx context.Context, path string, o *CheckOptions, k dataset.Knobs) iter.Seq[dataset.Finding] {
	var opt CheckOptions
	if o != nil {
		opt = *o
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	return fault.Collect(ctx, opt.Progress, func(col *fault.Collector) {
		c := &checker{ctx: col.Context(), o: opt, fs: vfs.OrOS(k.Fs), col: col, state: &checkState{}, give: col.Add}
		c.pool = subfile.NewPool(c.fs, opt.MaxOpen)
		defer c.pool.Close()
		c.run(path)
	})
}

type checker struct {
	ctx   context.Context
	o     CheckOptions
	fs    vfs.FS
	pool  *subfile.Pool
	col   *fault.Collector
	give  func(dataset.Finding) bool // passes on a finding; false stops the check
	state *checkState

	alive      bool // a writer is or may be alive
	known      bool // the commit state is known
	unfinished bool // the writer continued after a commit, or died then
}

// checkState has what the checks of all subfiles share.
type checkState struct {
	errors  atomic.Int64 // number of findings with severity Error
	lost    atomic.Bool  // some subfile is missing
	missing atomic.Int64 // number of missing subfiles of the set
}

// checkPart is a subfile being checked.
type checkPart struct {
	*read.FilePart
	set    *subfile.SetInfo // set in the manifest, or nil
	base   string
	noData bool // the data cannot be compared with the manifest's checksums
	own    bool // the manifest describes this header
}

func (c *checker) add(f dataset.Finding) {
	if f.Severity >= dataset.Error {
		c.state.errors.Add(1)
	}
	if errors.Is(f.Err, dataset.ErrMissing) {
		c.state.lost.Store(true)
	}
	c.give(f)
}

// each checks all subfiles of a set, several at once. It passes findings on in the order of the subfiles.
func (c *checker) each(parts []*checkPart, look func(c *checker, p *checkPart)) {
	c.col.Each(len(parts), c.o.Workers, func(i int, give func(dataset.Finding) bool) {
		one := *c
		one.give = give
		look(&one, parts[i])
	})
}

// place is where a finding is; off is -1 if there is no offset.
type place struct {
	file  string
	off   int64
	field string
}

func (c *checker) say(sev dataset.Severity, at place, class error, format string, args ...any) {
	c.add(fault.Of(sev, at.file, fault.At(at.file, at.off, at.field, class, format, args...)))
}

// listed reports whether manifests list all subfiles, including missing ones.
func listed(sets [][]*checkPart) bool {
	return !slices.ContainsFunc(sets, func(parts []*checkPart) bool { return len(parts) == 0 || parts[0].set == nil })
}

func (c *checker) run(path string) {
	set, err := subfile.Find(c.fs, path)
	if err != nil {
		c.add(fault.Of(dataset.Error, path, err))
		return
	}
	c.leftovers(set.Base)
	sets := c.collect(set)
	for _, parts := range sets {
		c.state.missing.Store(0)
		c.each(parts, (*checker).structure)
		if more := c.state.missing.Load() - maxListed; more > 0 {
			c.say(dataset.Error, place{"", -1, "subfile"}, dataset.ErrMissing, "%d more subfiles are missing", more)
		}
		if c.col.Stopped() {
			return
		}
		c.together(set, parts)
		n := c.state.errors.Load()
		maps := c.maps(parts)
		if c.state.errors.Load() == n {
			c.prints(parts, maps)
		}
		c.coverage(parts, maps)
	}
	if len(sets) > 0 && len(sets[0]) > 0 && sets[0][0].set != nil {
		c.added(sets)
	}
	if !c.state.lost.Load() || listed(sets) { // otherwise the path may be the name of a missing subfile
		if err := read.KnowsName(c.fs, path, set, wantedOf(sets)); err != nil {
			c.add(fault.Of(dataset.Error, path, err))
			return
		}
	}
	if c.o.Quick || c.col.Stopped() {
		return
	}
	for _, parts := range sets {
		for _, p := range parts {
			if p.Table != nil || p.Place != nil && p.Place.Plain {
				c.col.Expect(max(p.Size-p.Place.Header.Len, 0))
			}
		}
	}
	for _, parts := range sets {
		c.alike(parts)
		c.each(parts, (*checker).data)
	}
}

// added checks that the schema is valid with the variables that appends have added and with the attributes
// of the manifest.
func (c *checker) added(sets [][]*checkPart) {
	at := func(k int) (*read.FilePart, error) {
		for _, parts := range sets[k:] {
			for _, p := range parts {
				if p.Place != nil {
					return p.FilePart, nil
				}
			}
		}
		return nil, nil
	}
	files := sets[0][0].Files
	if p, _ := at(0); p != nil && slices.ContainsFunc(sets[0], func(q *checkPart) bool { return q.FilePart == p }) {
		if _, _, err := read.WithManifest(p.Place.Schema, files.Manifest, subfile.ManifestName(files.Base), at); err != nil {
			c.add(fault.Of(dataset.Error, subfile.ManifestName(files.Base), err))
		}
	}
}

// wantedOf yields the names of all subfiles, including missing ones.
func wantedOf(sets [][]*checkPart) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, parts := range sets {
			for _, p := range parts {
				if !yield(p.Wanted()) {
					return
				}
			}
		}
	}
}

// leftovers reports files that dead writers, or interrupted conversions to this name, have left.
func (c *checker) leftovers(base string) {
	temps, err := durable.HiddenFiles(c.fs, base)
	if err != nil {
		c.add(fault.Of(dataset.Warning, subfile.Dir(base), err))
	}
	writer, state, err := resume.WriterIn(c.fs, base)
	switch {
	case err != nil:
		c.add(fault.Of(dataset.Warning, durable.LockName(base), err))
	case state == "dead":
		c.say(dataset.Warning, place{durable.LockName(base), -1, "writer"}, nil, "%s has died; Recover or the next writer removes its leftover files", writer)
	case state != "":
		c.say(dataset.Note, place{durable.LockName(base), -1, "writer"}, nil, "%s: %s", state, writer)
	}
	records, err := subfile.Records(c.fs, base)
	if err != nil {
		c.add(fault.Of(dataset.Warning, subfile.Dir(base), err))
	}
	c.alive = state != "" && state != "dead"
	for _, t := range append(temps, records...) {
		if state != "writing" {
			c.say(dataset.Warning, place{t, -1, "file"}, nil, "leftover of an unfinished output")
		}
	}
}

// collect lists the subfiles, and reports the state of the commit.
func (c *checker) collect(found *subfile.Set) [][]*checkPart {
	files := &read.Files{Opt: read.OpenOptions{AllowMissing: true}, Fs: c.fs, Pool: c.pool, Base: found.Base}
	if found.Single {
		return [][]*checkPart{{{FilePart: &read.FilePart{Files: files, Name: found.Base}, base: found.Base}}}
	}
	st, err := subfile.ReadState(c.fs, found.Base)
	if err != nil {
		if errors.Is(err, dataset.ErrNotCommitted) {
			c.say(dataset.Error, place{subfile.NextName(found.Base), -1, "commit"}, dataset.ErrNotCommitted, "the dataset was never finished; the other findings concern its partial files")
		} else {
			c.add(fault.Of(dataset.Error, subfile.ManifestName(found.Base), err))
		}
		st = &subfile.State{}
	} else if st.Writing {
		c.say(dataset.Warning, place{subfile.NextName(found.Base), -1, "commit"}, nil, "a writer is active or has died; the previous manifest is in force")
	}
	for _, err := range st.Flaws {
		c.add(fault.Of(dataset.Error, "", err))
	}
	c.known = err == nil
	c.log(found.Base, st)
	if m := st.Manifest; m != nil && !st.Pending && !c.alive && !dataset.LayoutGrows(m.Layout) {
		if err := read.LostSets(c.fs, found.Base, m); err != nil {
			c.add(fault.Of(dataset.Error, "", err))
		}
	}
	if st.Manifest != nil && st.Manifest.Unverified {
		c.say(dataset.Warning, place{subfile.ManifestName(found.Base), -1, "unverified"}, nil, "the dataset was converted from unverified data: its checksums cover the copy, not the source")
	}
	if st.Pending {
		c.say(dataset.Warning, place{subfile.NextName(found.Base), -1, "commit"}, nil, "the commit is complete, but its renames are not; Recover or the next writer finishes them")
	}
	for _, name := range found.Partials {
		if _, tag, _ := subfile.Final(name); !st.Pending || tag != st.Manifest.Writer {
			c.say(dataset.Warning, place{name, -1, "commit"}, dataset.ErrNotCommitted, "this partial subfile does not belong to the dataset")
		}
	}
	if st.Manifest == nil {
		if err == nil && len(found.Members) == 0 {
			c.say(dataset.Error, place{"", -1, "commit"}, dataset.ErrNotCommitted, "only partial subfiles exist; the following findings concern them")
		} else if err == nil {
			c.say(dataset.Note, place{"", -1, "manifest"}, nil, "no manifest: another program wrote the dataset, and its data have no checksums")
			if lost := read.Orphaned(c.fs, found.Base); lost != nil {
				c.add(fault.Of(dataset.Error, subfile.ManifestName(found.Base), lost))
			}
		}
		var parts []*checkPart
		set, err := dataset.WithoutStrays(c.fs, found)
		if err != nil {
			c.add(fault.Of(dataset.Error, subfile.Dir(found.Base), err))
		}
		members := set.Members
		if len(members) == 0 {
			members = found.Partials
		}
		n := 0
		for i := range members {
			n = max(n, i+1)
		}
		if most := len(members) + read.MaxMissing; n > most {
			c.say(dataset.Error, place{members[n-1], -1, "subfile number"}, dataset.ErrMissing, "found %d, but only %d subfiles exist; subfiles from %d on are not checked", n-1, len(members), most)
			n = most
		}
		for i := range n {
			parts = append(parts, &checkPart{FilePart: &read.FilePart{Files: files, Index: i, Name: members[i]}, base: found.Base})
		}
		return [][]*checkPart{parts}
	}
	files.Pending, files.Manifest = st.Pending, st.Manifest
	if codec := st.Manifest.Codec; codec != "" && codec != dataset.ManifestCodec {
		c.say(dataset.Error, place{subfile.ManifestName(found.Base), 0, "codec"}, dataset.ErrUnsupported, "%q, want none or %q", codec, dataset.ManifestCodec)
	}
	var sets [][]*checkPart
	for k := range st.Manifest.Sets {
		si := &st.Manifest.Sets[k]
		base := filepath.Join(subfile.Dir(found.Base), si.Base)
		var parts []*checkPart
		for i := range si.Subfiles {
			name, err := files.FinalOrPartial(subfile.Name(base, i))
			if err != nil {
				c.add(fault.Of(dataset.Error, name, err))
			}
			parts = append(parts, &checkPart{set: si, base: base, FilePart: &read.FilePart{Files: files, Index: i, Info: &si.Subfiles[i], Name: name}})
		}
		sets = append(sets, parts)
	}
	var stale []string
	known, err := st.Known(c.fs, found.Base)
	if err == nil {
		stale, err = subfile.Stale(c.fs, found.Base, st.Manifest, dataset.HoldsSubfile(c.fs), known...)
	}
	if err != nil {
		c.add(fault.Of(dataset.Warning, subfile.Dir(found.Base), fmt.Errorf("cannot list the directory to find leftover subfiles: %w", err)))
	}
	for _, name := range stale {
		c.say(dataset.Warning, place{name, -1, "manifest"}, nil, "the manifest does not list this subfile")
	}
	return sets
}

// log reports whether a writer continued after a commit, and whether it died.
func (c *checker) log(base string, st *subfile.State) {
	named := ""
	if m := st.Manifest; m != nil && m.Log != "" {
		named = subfile.LogName(base, m.Log)
		c.unfinished = true
		if h := m.Held; h != nil {
			severity := dataset.Warning
			if c.alive {
				severity = dataset.Note
			}
			c.say(severity, place{named, -1, "held_back"}, nil, "%s", h)
		}
		if c.alive {
			c.say(dataset.Note, place{named, -1, "commit"}, nil, "the writer is active: commit %d is in force, with %d records", m.Commits, m.Records)
		} else {
			c.say(dataset.Warning, place{named, -1, "commit"}, nil, "the writer did not finish: commit %d is in force, with %d records; Recover or the next writer continues from this commit", m.Commits, m.Records)
			if st.LogTorn > 0 {
				c.say(dataset.Warning, place{named, st.LogEnd, "commit"}, nil, "%d bytes of an incomplete commit", st.LogTorn)
			}
		}
	}
	logs, err := subfile.Logs(c.fs, base)
	if err != nil {
		c.add(fault.Of(dataset.Warning, subfile.Dir(base), err))
	}
	for _, name := range logs {
		if name != named && !c.alive && c.known {
			c.say(dataset.Warning, place{name, -1, "commit"}, nil, "the manifest does not name this log")
		}
	}
}

// maxListed is the maximum number of missing subfiles that are listed by name.
const maxListed = 100

// together checks that the subfiles belong to one dataset and that no subfile is missing.
func (c *checker) together(found *subfile.Set, parts []*checkPart) {
	var lead *checkPart
	if k := slices.IndexFunc(parts, func(p *checkPart) bool { return p.own && p.Place != nil }); k >= 0 {
		lead = parts[k]
	}
	blobs, missing := 0, false
	for _, p := range parts {
		if p.Place == nil {
			missing = true
			continue
		}
		blobs += p.Place.Shape.Blobs
		missing = missing || p.Info != nil && !p.own // the file belongs to another dataset
		if p == lead {
			continue
		}
		if lead == nil {
			lead = p
		} else if err := read.SameDataset(lead.Place, p.Place, p.Info != nil); err != nil {
			c.say(dataset.Error, place{p.Name, p.Place.Header.Off, "header"}, dataset.ErrCorrupt, "this file and %s belong to different datasets: %v", lead.Name, err)
		} else if err := p.SameRecords(lead.FilePart); err != nil && p.Info == nil {
			c.say(dataset.Error, place{p.Name, layout.NumrecsAt, "numrecs"}, dataset.ErrCorrupt, "%v", err)
		}
	}
	if lead == nil {
		return
	}
	sh := lead.Place.Shape
	if lead.Place.Plain {
		switch {
		case lead.set != nil:
			c.say(dataset.Error, place{lead.Name, 0, "header"}, dataset.ErrCorrupt, "an ordinary netCDF file has the name of a subfile")
		case !found.Single:
			c.say(dataset.Unchecked, place{lead.Name, 0, "header"}, dataset.ErrNotFormat, "an ordinary netCDF file has the name of a subfile")
		}
		return
	}
	for i := len(parts); i < sh.Subfiles; i++ {
		missing = true
		if i == len(parts)+maxListed && i < sh.Subfiles-1 {
			c.say(dataset.Error, place{subfile.Name(parts[0].base, i), -1, "subfile"}, dataset.ErrMissing, "this subfile and the next %d are missing", sh.Subfiles-1-i)
			break
		}
		c.say(dataset.Error, place{subfile.Name(parts[0].base, i), -1, "subfile"}, dataset.ErrMissing, "attribute %s of %s is %d, but this subfile does not exist", dataset.AttSubfiles, lead.Name, sh.Subfiles)
	}
	if len(parts) > sh.Subfiles {
		c.say(dataset.Error, place{lead.Name, lead.Place.Header.Locate().GlobalAtt(dataset.AttSubfiles), "attribute " + dataset.AttSubfiles}, dataset.ErrCorrupt, "the value is %d, but %d subfiles exist", sh.Subfiles, len(parts))
	}
	if !missing && blobs != sh.Ranks {
		c.say(dataset.Error, place{lead.Name, lead.Place.Header.Locate().GlobalAtt(dataset.AttNprocs), "attribute " + dataset.AttNprocs}, dataset.ErrCorrupt, "the value is %d, but the subfiles hold %d blobs", sh.Ranks, blobs)
	}
}
