package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/durable"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// View reads the versions of an array without ranks.
type View struct {
	cat    *catalog
	rec    *record
	dirs   []string
	spec   Spec
	fsys   vfs.FS
	sealed bool // encrypted, and no key was given
}

// ViewOptions of OpenView. nil means the defaults.
type ViewOptions struct {
	FS      vfs.FS // default the operating system's
	Key     []byte // of an encrypted store; without it all works but reading and checking elements (ErrKey)
	MaxOpen int    // files; default 64
}

// List returns the names of the arrays in a store, sorted.
func List(dir string, fsys vfs.FS) ([]string, error) {
	if fsys == nil {
		fsys = vfs.OS
	}
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		if IsArray(filepath.Join(dir, e.Name()), fsys) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// IsArray says whether a directory is that of an array: a record is there, or files of versions, whose record is lost then.
func IsArray(dir string, fsys vfs.FS) bool {
	if fsys == nil {
		fsys = vfs.OS
	}
	list, _ := fsys.ReadDir(dir)
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && (slices.Contains(recordNames, e.Name()) || dataRE.MatchString(e.Name()))
	})
}

// OpenView opens the directory of an array (the store's directory and the array's name below it). For a private store
// give those of all nodes, in the order of the nodes; a node that is lost may be
// any directory that is not there.
func OpenView(dirs []string, o *ViewOptions) (*View, error) {
	if o == nil {
		o = &ViewOptions{}
	}
	if len(dirs) == 0 {
		return nil, usageErr("no directory")
	}
	v := &View{dirs: slices.Clone(dirs), fsys: o.FS}
	if v.fsys == nil {
		v.fsys = vfs.OS
	}
	var errs []error
	for _, d := range dirs {
		r, err := readRecord(v.fsys, d)
		if err != nil {
			errs = append(errs, err)
		} else if v.rec == nil || r.Seq > v.rec.Seq {
			v.rec = r
		}
	}
	if v.rec == nil {
		return nil, errors.Join(errs...)
	}
	opt := (&Options{Key: o.Key, MaxOpen: o.MaxOpen}).withDefaults()
	if v.sealed = v.rec.Key != "" && len(o.Key) == 0; !v.sealed {
		if err := keyFits(v.rec, &opt); err != nil {
			return nil, err
		}
	}
	t, _ := ParseType(v.rec.Spec.Type) // checked by readRecord
	s := v.rec.Spec
	v.spec = Spec{Name: s.Name, Type: t, Shape: s.Shape, Chunk: s.Chunk, Extra: s.Extra, EveryRegrid: s.Every, Keep: s.Keep}
	stores := make([]*nodeStore, len(dirs))
	for i, d := range dirs {
		stores[i] = &nodeStore{v.fsys, d}
	}
	var err error
	v.cat, err = newCatalog(v.rec, t, stores, len(dirs)-1, &opt)
	return v, err
}

// Close releases the files.
func (v *View) Close() error {
	v.cat.close()
	return nil
}

// Spec of the array; Shape is that of the newest version.
func (v *View) Spec() Spec { return v.spec }

// Versions lists the committed versions, oldest first.
func (v *View) Versions() []VersionInfo { return v.rec.versions() }

// Encrypted says whether the chunks are.
func (v *View) Encrypted() bool { return v.rec.Key != "" }

// Bytes is what the files of the store hold, without copies.
func (v *View) Bytes() (n int64, files int) {
	for _, f := range v.rec.Files {
		n += f.Size
	}
	return n, len(v.rec.Files)
}

// Get reads the box [lo, hi) of a version, elements in the byte order of the host. Every chunk that is touched is
// read whole and verified.
func (v *View) Get(ctx context.Context, version int64, lo, hi []int64, dst []byte) error {
	if v.sealed {
		return pkg.Errorf("array %s is encrypted: %w", v.spec.Name, ErrKey)
	}
	return v.cat.get(ctx, v.rec, version, lo, hi, dst, true)
}

// Finding is something that Check found: an error, or a note if nothing is lost.
type Finding = fault.Finding

// findingOf is an error as a finding about a file.
func findingOf(file string, err error) Finding { return fault.Of(fault.Error, file, err) }

// wordsOf is an error as a finding with all of its words.
func wordsOf(err error) Finding {
	return Finding{Severity: fault.Error, Offset: -1, Msg: fault.Text(err), Err: err}
}

// noteOf is a finding of which nothing is lost.
func noteOf(file, text string) Finding {
	return Finding{Severity: fault.Note, File: file, Offset: -1, Msg: text}
}

// Check looks for all that is wrong with the store: files that are absent or not those that were committed, every
// byte of them, chunks that no longer have their digests, redundancy files that are absent or damaged; and notes what is there besides. progress, if
// not nil, gets bytes done and in all.
func (v *View) Check(ctx context.Context, progress func(done, total int64)) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		total, done := int64(0), int64(0)
		for _, f := range v.rec.Files {
			total += f.Size
		}
		for i := range v.rec.Files {
			f := &v.rec.Files[i]
			for k := range v.cat.copies + 1 {
				node := (f.Node + k) % len(v.dirs)
				name := filepath.Join(v.dirs[node], f.Name)
				err := v.checkFile(ctx, node, f)
				if ctx.Err() != nil {
					return
				}
				if k > 0 && errors.Is(err, fs.ErrNotExist) {
					continue // not all nodes keep copies
				}
				if err != nil && !yield(findingOf(name, err)) {
					return
				}
			}
			if done += f.Size; progress != nil {
				progress(done, total)
			}
		}
		if v.sealed {
			if !yield(noteOf("", "elements are encrypted, and were not looked at without the key; the hashes of the files were")) {
				return
			}
		} else if !v.checkChunks(ctx, yield) {
			return
		}
		if !v.checkSets(ctx, yield) || !v.checkRecords(yield) {
			return
		}
		known := map[string]bool{recordName: true, secondName: true}
		for _, f := range v.rec.Files {
			known[f.Name] = true
		}
		for _, d := range v.dirs {
			list, _ := v.fsys.ReadDir(d)
			for _, e := range list {
				text := "belongs to no committed version; the next Open removes it"
				if isRedundancy(e.Name()) && !v.rec.stray(e.Name()) {
					continue
				}
				switch {
				case durable.IsTemp(e.Name()):
					text = "a file that was not finished; the next Open removes it"
				case !isData(e.Name()) && !isRedundancy(e.Name()):
					text = "is not of this array"
				}
				if !known[e.Name()] && !yield(noteOf(filepath.Join(d, e.Name()), text)) {
					return
				}
			}
		}
	}
}

// checkRecords looks at the records of all directories. One that is older than another is what a commit leaves that was cut.
func (v *View) checkRecords(yield func(Finding) bool) bool {
	for _, d := range v.dirs {
		best, bad := readRecords(v.fsys, d)
		if best == nil && len(v.dirs) > 1 {
			if _, err := v.fsys.Stat(d); errors.Is(err, fs.ErrNotExist) {
				continue // a node that is lost
			}
		}
		for i, err := range bad {
			f := Finding{Severity: fault.Error, File: filepath.Join(d, recordNames[i]), Offset: -1, Err: err}
			var fe *FormatError
			switch {
			case err == nil && best.Seq == v.rec.Seq:
				continue
			case err == nil || errors.As(err, &fe) && fe.Field == "seq":
				f.Severity, f.Msg = fault.Note, "an older record, of a commit that did not come to its end; the next one replaces it"
			case errors.Is(err, fs.ErrNotExist) && i > 0 && best != nil && !best.Twice:
				f.Severity, f.Msg = fault.Note, "absent: the store was written without a second record; the next commit adds it"
			case errors.Is(err, fs.ErrNotExist):
				f.Msg = "the record is absent; the next commit makes it anew from the other one"
			default:
				f.Msg = fault.Text(err) + "; the next commit makes it anew from the other one"
			}
			if !yield(f) {
				return false
			}
		}
	}
	return true
}

// checkFile verifies one file against the record and its own hashes.
func (v *View) checkFile(ctx context.Context, node int, f *fileInfo) error {
	x, err := v.cat.readers.get(v.cat.stores[node], node, f)
	if err != nil {
		return err
	}
	defer v.cat.readers.put(x)
	size, err := x.f.Size()
	if err != nil {
		return err
	}
	for fd := range ffformat.Check(ctx, x.f, size, x.f.Name(), nil) {
		if fd.Severity == fault.Error {
			return fd.AsError()
		}
	}
	return nil
}

// checkChunks verifies what each version holds.
func (v *View) checkChunks(ctx context.Context, yield func(Finding) bool) bool {
	before := map[[2]int64]int64{} // by generation and segment: the version whose chunks were verified last
	for i := range v.rec.Versions {
		ver := &v.rec.Versions[i]
		g, _ := v.rec.generation(ver.Gen)
		n := elems(ver.Shape)
		good := true
		for seg := int64(0); seg*g.Seg < n; seg++ {
			if ctx.Err() != nil {
				return false
			}
			first := seg * g.Seg
			end := min(first+g.Seg, n)
			key := [2]int64{int64(g.ID), seg}
			last, ok := before[key]
			if !ok {
				last = -1
			}
			x, err := v.cat.index(ctx, g, int(seg))
			if err == nil {
				err = x.holds(ver.Number, 0, ((end-first)*v.cat.size-1)/v.cat.chunk)
			}
			if err != nil {
				err = fmt.Errorf("version %d, elements %d to %d: %w", ver.Number, first, end, err)
			} else {
				before[key] = ver.Number
				err = v.newChunks(ctx, x, ver, last, g, int(seg))
			}
			good = good && err == nil
			if err != nil && ctx.Err() == nil && !yield(wordsOf(err)) {
				return false
			}
		}
		if !good || ver.Sum == "" {
			continue
		}
		if _, same, err := v.cat.stateOf(ctx, g, ver); err == nil && !same {
			err := formatErr(v.spec.Name, -1, "sum", ErrCorrupt, "version %d: the chunks are not those that were committed, want %s", ver.Number, ver.Sum)
			if !yield(wordsOf(err)) {
				return false
			}
		}
	}
	return true
}

// newChunks verifies the chunks of a segment that the version before, last, did not have: others were verified
// with it. The error tells of the first one that is bad, and how many are.
func (v *View) newChunks(ctx context.Context, x *segIndex, ver *verInfo, last int64, g *geometry, seg int) error {
	tmp := make([]byte, v.cat.chunk)
	ce := v.cat.chunk / v.cat.size
	var first error
	bad := 0
	for k := range x.at {
		p, ok := x.find(int64(k), ver.Number)
		if !ok || p.since <= last {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := v.cat.readChunk(seg, p, tmp); err != nil {
			bad++
			if first == nil {
				at := int64(seg)*g.Seg + int64(k)*ce
				first = fmt.Errorf("version %d, elements %d to %d: %w", ver.Number, at, at+ce, err)
			}
		}
	}
	if bad > 1 {
		return fmt.Errorf("%w; and %d more chunks", first, bad-1)
	}
	return first
}

// dropped is the record without some versions. All files must be readable: in one that is not could be what others need.
func (v *View) dropped(ctx context.Context, versions []int64) (*record, error) {
	rec := v.rec.clone()
	for _, n := range versions {
		if _, ok := rec.version(n); !ok {
			return nil, pkg.Errorf("array %s: version %d: %w", v.spec.Name, n, ErrNoVersion)
		}
		if rec.Versions[len(rec.Versions)-1].Number == n {
			return nil, usageErr("array %s: version %d is the newest one", v.spec.Name, n)
		}
		rec.Versions = slices.DeleteFunc(rec.Versions, func(x verInfo) bool { return x.Number == n })
	}
	var keep []int64
	for _, x := range rec.Versions {
		keep = append(keep, x.Number)
	}
	needed := map[int32]bool{}
	for _, g := range rec.Generations {
		numbers := inGen(rec, keep, g.ID)
		if !slices.ContainsFunc(rec.Versions, func(x verInfo) bool { return x.Gen == g.ID }) {
			continue // all its files go
		}
		for seg := range g.Segs {
			x, err := v.cat.index(ctx, &g, seg)
			if err == nil {
				err = x.err
			}
			if err != nil {
				return nil, err
			}
			x.live(numbers, nil, -1, func(p place) { needed[p.file] = true })
		}
	}
	dead := map[string]bool{}
	for id, f := range v.cat.files {
		if f != nil && !needed[int32(id)] {
			dead[f.Name] = true
		}
	}
	rec.Seq++
	rec.prune(dead)
	return rec, nil
}

// Freed is what Drop of the versions would remove: files and their bytes, of all directories. What a file holds that is
// needed stays, and so does the whole file; a commit of an array with Retention writes such chunks again when that pays.
func (v *View) Freed(ctx context.Context, versions ...int64) (bytes int64, files int, err error) {
	rec, err := v.dropped(ctx, versions)
	if err != nil {
		return 0, 0, err
	}
	stays := map[string]bool{}
	for _, f := range rec.Files {
		stays[f.Name] = true
	}
	for _, f := range v.rec.Files {
		if stays[f.Name] {
			continue
		}
		for _, d := range v.dirs {
			if info, err := v.fsys.Stat(filepath.Join(d, f.Name)); err == nil {
				bytes += info.Size()
				files++
			}
		}
	}
	return bytes, files, nil
}

// Drop forgets versions in a store that no array has open, and removes the files that no other version needs. The newest
// one cannot be dropped. For a store that nodes do not share each node's record is replaced.
func (v *View) Drop(ctx context.Context, versions ...int64) error {
	rec, err := v.dropped(ctx, versions)
	if err != nil {
		return err
	}
	b, err := rec.encode()
	if err != nil {
		return err
	}
	for _, d := range v.dirs {
		seq, err := lastSeq(v.fsys, d)
		if err != nil {
			return err
		}
		if seq >= rec.Seq {
			return pkg.Errorf("%s: commit %d of another program is there: %w", d, seq, ErrConflict)
		}
	}
	for _, d := range v.dirs {
		if _, err := v.fsys.Stat(d); errors.Is(err, fs.ErrNotExist) && len(v.dirs) > 1 {
			continue
		}
		if err := writeRecord(v.fsys, d, b, true); err != nil {
			return err
		}
	}
	v.rec = rec
	v.cat.mu.Lock()
	gone := v.cat.setRecord(rec)
	v.cat.mu.Unlock()
	for _, f := range gone {
		v.cat.readers.forget(f.Name)
		for _, d := range v.dirs {
			if err := v.fsys.Remove(filepath.Join(d, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, d := range v.dirs { // the redundancy of what is gone
		list, err := v.fsys.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range list {
			if isRedundancy(e.Name()) && rec.stray(e.Name()) {
				if err := v.fsys.Remove(filepath.Join(d, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
