package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
)

// Taken is a file of a complete dataset that a newer dataset has overwritten. The file has bytes of the newer dataset, or is incomplete.
type Taken struct {
	File string // relative to the prefix directory, as in File.Path
	By   Entry
	// Doubtful is set if it is not certain that the file was overwritten. In this case the file list of By is lost, the map of the older
	// dataset has no checksums, and the file is not provably older than By.
	Doubtful bool
}

// Overwritten finds complete datasets whose files newer datasets have overwritten. If a program uses the same file names in each
// dataset, SCR lists all datasets as complete, although the files have only the bytes of the last one.
type Overwritten struct {
	dir    *Dir
	index  *Index
	newest []Entry          // datasets whose files are not in owners yet, newest first; includes incomplete datasets, because they overwrite files too
	owners map[string]Entry // for each file, the newest dataset that has the file
	unsure []suspect        // newest first
	begun  bool
}

// suspect is a dataset whose files are unknown. Any file written since Entry.Created may belong to it.
type suspect struct {
	Entry
	files map[string]bool // files that the dataset may have written; nil: it may have written any file
}

// Overwritten returns a finder of overwritten datasets. It reads maps on demand.
func (d *Dir) Overwritten(x *Index) *Overwritten {
	return &Overwritten{dir: d, index: x, owners: map[string]Entry{}}
}

// begin collects the datasets of the index, and datasets that are not in the index but have a folder.
func (o *Overwritten) begin() error {
	o.newest = o.index.Entries()
	listed := map[int]bool{}
	for _, e := range o.newest {
		listed[e.ID] = true
	}
	list, err := o.dir.fs().ReadDir(o.dir.File(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, x := range list {
		id, ok := record.DatasetID(x.Name())
		if !ok || !x.IsDir() || listed[id] {
			continue
		}
		if _, err := vfs.Lstat(o.dir.fs(), filepath.Join(o.dir.Datasets.Dir(id), mapName)); errors.Is(err, fs.ErrNotExist) {
			continue // only the dataset's number is known
		}
		o.newest = append(o.newest, Entry{ID: id, Name: x.Name()})
	}
	slices.SortStableFunc(o.newest, func(a, b Entry) int { return b.ID - a.ID })
	o.begun = true
	return nil
}

// Of returns a file of a complete dataset that a newer dataset has overwritten, or nil if there is none.
func (o *Overwritten) Of(e Entry) (*Taken, error) {
	if !e.Complete {
		return nil, nil
	}
	return o.Any(e)
}

// Any is like Of, but accepts incomplete datasets too.
func (o *Overwritten) Any(e Entry) (*Taken, error) {
	if !o.begun {
		if err := o.begin(); err != nil {
			return nil, err
		}
	}
	for len(o.newest) > 0 && o.newest[0].ID > e.ID {
		if err := o.enter(o.newest[0]); err != nil {
			return nil, err
		}
		o.newest = o.newest[1:]
	}
	if len(o.owners) == 0 && len(o.unsure) == 0 {
		return nil, nil
	}
	files, err := o.dir.Datasets.filesOf(e)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if by, ok := o.owners[name]; ok && by.ID > e.ID {
			return &Taken{File: name, By: by}, nil
		}
	}
	for _, s := range o.unsure {
		if s.ID > e.ID && len(files) > 0 {
			if t, err := o.suspected(e, s); t != nil || err != nil {
				return t, err
			}
		}
	}
	return nil, nil
}

// enter records the files of a dataset. It reads the map even if the summary is damaged or missing.
func (o *Overwritten) enter(e Entry) error {
	p, err := o.dir.Datasets.Locate(e)
	if errors.Is(err, fault.ErrMissing) {
		p, err = o.dir.Datasets.Place(e.ID), nil
	}
	if err != nil {
		return err
	}
	s, err := o.dir.Datasets.ReadSummary(p)
	if err != nil && !lost(err) {
		return err
	}
	if s != nil && (s.Renames || s.Dropped) {
		return nil // if Renames is set, the files do not have their final names yet; if Dropped is set, Drop has already marked the datasets that this dataset overwrote
	}
	files, err := o.dir.Datasets.pathsOf(p)
	if err != nil && !lost(err) {
		return err
	}
	if e.Dataset.Created.IsZero() && s != nil {
		e.Dataset.Created = s.Dataset.Created
	}
	if err == nil && (s != nil || e.Complete) {
		for _, name := range files {
			if _, ok := o.owners[name]; !ok {
				o.owners[name] = e
			}
		}
		return nil
	}
	doubt := suspect{Entry: e}
	if err == nil { // no summary states that the files have their final names
		doubt.files = map[string]bool{}
		for _, name := range files {
			if _, err := vfs.Lstat(o.dir.fs(), Hidden(filepath.Join(o.dir.Path, name))); err != nil {
				doubt.files[name] = true
			}
		}
	}
	o.unsure = append(o.unsure, doubt)
	return nil
}

// clockStep is the minimum difference at which one of two file times is considered older. Archives and some file systems store times in
// steps of two seconds, and the clocks of the file system and of rank 0 may differ.
const clockStep = 2 * time.Second

// namedFor reports whether the path of a file contains the name of its dataset, not preceded or followed by a letter or digit. For
// example, ckpt.7/rank_0 and out/state-ckpt.7.h5 contain ckpt.7. A program with such file names does not write these files in another
// dataset.
func namedFor(path, name string) bool {
	if name == "" {
		return false
	}
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(path[from:], name)
		if i < 0 {
			return false
		}
		from += i
		last, _ := utf8.DecodeLastRuneInString(path[:from])
		next, _ := utf8.DecodeRuneInString(path[from+len(name):])
		if !letter(last) && !letter(next) {
			return true
		}
		from++
	}
}

// suspected returns a file of a dataset that a suspect may have overwritten. Files with checksums are skipped, because their readers
// compare the bytes. A file is safe if its last change is older than the suspect. If the times are too close, file names decide. They
// are needed because SCR lists a dataset that it writes in place before it knows the file names.
func (o *Overwritten) suspected(e Entry, by suspect) (*Taken, error) {
	p, err := o.dir.Datasets.Locate(e)
	if err != nil {
		return nil, nil // the dataset is unusable, and its readers get the error
	}
	m, err := o.dir.Datasets.ReadMap(p)
	if err != nil {
		return nil, nil
	}
	begun := by.Dataset.Created // zero if unknown: then all files are newer
	named := by.files == nil && by.Dataset.Name != ""
	for _, rank := range slices.Sorted(maps.Keys(m.Files)) {
		for _, f := range m.Files[rank] {
			at := filepath.Join(p.Data, filepath.FromSlash(f.Path))
			name, err := filepath.Rel(o.dir.Path, at)
			if err != nil {
				return nil, err
			}
			if name = filepath.ToSlash(name); f.HasCRC || len(f.Segments) > 0 || by.files != nil && !by.files[name] {
				continue
			}
			st, err := vfs.Lstat(o.dir.fs(), at)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if st.ModTime().Add(clockStep).Before(begun) {
				continue
			}
			if named && st.ModTime().Before(begun) && namedFor(name, e.Dataset.Name) && !namedFor(name, by.Dataset.Name) {
				continue
			}
			t := &Taken{File: name, By: by.Entry, Doubtful: true}
			// If the older dataset's summary predates the suspect but the file does not, the file was certainly overwritten. Otherwise
			// it is doubtful, because a copy of the directory may not have kept the file times.
			if s, err := vfs.Lstat(o.dir.fs(), filepath.Join(p.Meta, summaryName)); err == nil && !begun.IsZero() {
				t.Doubtful = !s.ModTime().Add(clockStep).Before(begun) || st.ModTime().Before(begun)
			}
			return t, nil
		}
	}
	return nil, nil
}

// lost reports whether an error means that metadata are damaged or missing.
func lost(err error) bool {
	return errors.Is(err, fault.ErrMissing) || errors.Is(err, fs.ErrNotExist) || fault.IsDamage(err)
}

// demoteOverwritten marks overwritten datasets as incomplete in the summaries and the index. It must run before a dataset is removed
// from the index, because only its file list shows that it has overwritten files of older datasets.
func (d *Dir) demoteOverwritten(x *Index) error {
	over := d.Overwritten(x)
	for _, e := range x.Entries() {
		taken, err := over.Of(e)
		if err != nil {
			return err
		}
		if taken == nil || taken.Doubtful || e.Copy {
			continue
		}
		if err := d.Datasets.markIncomplete(e); err != nil {
			return err
		}
		if err := x.SetComplete(e.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// String returns a predicate whose subject is the older dataset, for messages.
func (t *Taken) String() string {
	if t.Doubtful {
		return fmt.Sprintf("perhaps overwritten: the newer dataset %d %s has lost its list of files, and file %s has no checksum and was written after the start of that dataset (scr index --drop %d ignores that dataset)",
			t.By.ID, fault.Quoted(t.By.Name), fault.Quoted(t.File), t.By.ID)
	}
	return fmt.Sprintf("overwritten: dataset %d %s now owns the file %s", t.By.ID, fault.Quoted(t.By.Name), fault.Quoted(t.File))
}
