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

// Taken is a file of a complete dataset that a newer one has, too. Its bytes are the newer one's, or not whole.
type Taken struct {
	File string // as in File.Path, from the prefix directory on
	By   Entry
	// Doubtful: the list of files of By is lost, the map of the older dataset has no checksums, and the file is not provably older than By.
	Doubtful bool
}

// Overwritten finds complete datasets of an index whose files newer ones have. SCR lists all datasets of a program that
// writes the same files each time as complete; the last one alone has its bytes.
type Overwritten struct {
	dir    *Dir
	index  *Index
	newest []Entry          // those whose files are not in owners yet, newest first; incomplete ones have written over older ones, too
	owners map[string]Entry // the newest dataset that has a file
	unsure []suspect        // newest first
	begun  bool
}

// suspect is a dataset whose files are not known. Files of Entry.Created and later may belong to it.
type suspect struct {
	Entry
	files map[string]bool // all that it may have written; nil: any
}

// Overwritten looks for datasets that are overwritten. Maps are read when they are needed.
func (d *Dir) Overwritten(x *Index) *Overwritten {
	return &Overwritten{dir: d, index: x, owners: map[string]Entry{}}
}

// begin lists the datasets of the index, and those that it has lost but whose folders are there.
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
			continue // nothing is known of it but its number
		}
		o.newest = append(o.newest, Entry{ID: id, Name: x.Name()})
	}
	slices.SortStableFunc(o.newest, func(a, b Entry) int { return b.ID - a.ID })
	o.begun = true
	return nil
}

// Of is a file that the complete dataset of an entry has lost, or nil.
func (o *Overwritten) Of(e Entry) (*Taken, error) {
	if !e.Complete {
		return nil, nil
	}
	return o.Any(e)
}

// Any is Of, also of a dataset that is not complete, perhaps for that reason.
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

// enter learns which files a dataset has. A summary that is damaged or gone does not hide a map, nor a map that is the dataset.
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
		return nil // older ones were reported before, or will be when its files get their names
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
	if err == nil { // nothing says that its files have their names
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

// clockStep is by how much two times of files must differ at least: archives and some file systems keep two seconds, and the clocks of the
// file system and of rank 0 may differ.
const clockStep = 2 * time.Second

// namedFor reports whether the path of a file has the name of its dataset in it, between characters that are neither letters nor digits:
// ckpt.7/rank_0 and out/state-ckpt.7.h5 are named for ckpt.7. A program that names files so does not write them in a dataset of another name.
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

// suspected is a file of a dataset that a suspect may have overwritten. If the map has checksums, whoever reads the file compares its bytes;
// a file that was last written before the suspect was begun was not overwritten by it. If the times are too close for that, the names of
// files decide: SCR lists a dataset that it writes in place before it knows their names.
func (o *Overwritten) suspected(e Entry, by suspect) (*Taken, error) {
	p, err := o.dir.Datasets.Locate(e)
	if err != nil {
		return nil, nil // of no use anyhow; whoever needs it gets the error
	}
	m, err := o.dir.Datasets.ReadMap(p)
	if err != nil {
		return nil, nil
	}
	begun := by.Dataset.Created // zero: not known, and before all files
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
			// Times that were kept when the directory was copied: its own summary is older, the file is not.
			if s, err := vfs.Lstat(o.dir.fs(), filepath.Join(p.Meta, summaryName)); err == nil && !begun.IsZero() {
				t.Doubtful = !s.ModTime().Add(clockStep).Before(begun) || st.ModTime().Before(begun)
			}
			return t, nil
		}
	}
	return nil, nil
}

// lost says of an error that metadata are damaged or gone.
func lost(err error) bool {
	return errors.Is(err, fault.ErrMissing) || errors.Is(err, fs.ErrNotExist) || fault.IsDamage(err)
}

// demoteOverwritten makes summaries and index say of datasets that are overwritten that they are not complete. It comes before a
// dataset leaves the index: nobody could tell any more that the files of older ones are its.
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

// String is the end of a sentence about the older dataset.
func (t *Taken) String() string {
	if t.Doubtful {
		return fmt.Sprintf("perhaps overwritten: the newer dataset %d %s has lost its list of files, and file %s has no checksum and was written after the start of that dataset (scr index --drop %d ignores that dataset)",
			t.By.ID, fault.Quoted(t.By.Name), fault.Quoted(t.File), t.By.ID)
	}
	return fmt.Sprintf("overwritten: dataset %d %s now owns the file %s", t.By.ID, fault.Quoted(t.By.Name), fault.Quoted(t.File))
}
