package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/fault"
)

// Taken is a file of a complete dataset that a newer one has, too. Its bytes are the newer one's, or not whole.
type Taken struct {
	File string // as in File.Path, from the prefix directory on
	By   Entry
}

// Overwritten tells of complete datasets of an index whether newer ones have their files. SCR lists all datasets of a program that
// writes the same files each time as complete; the last one alone has its bytes.
type Overwritten struct {
	dir    *Dir
	newest []Entry          // those whose files are not in owners yet, newest first; incomplete ones have written over older ones, too
	owners map[string]Entry // the newest dataset that has a file
}

// Overwritten looks for datasets that are overwritten. Maps are read when they are needed.
func (d *Dir) Overwritten(x *Index) *Overwritten {
	return &Overwritten{dir: d, newest: x.Entries(), owners: map[string]Entry{}}
}

// Of is a file that the dataset of an entry has lost, or nil.
func (o *Overwritten) Of(e Entry) (*Taken, error) {
	if !e.Complete {
		return nil, nil
	}
	for len(o.newest) > 0 && o.newest[0].ID > e.ID {
		files, err := o.dir.filesOf(o.newest[0])
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if _, ok := o.owners[name]; !ok {
				o.owners[name] = o.newest[0]
			}
		}
		o.newest = o.newest[1:]
	}
	if len(o.owners) == 0 {
		return nil, nil
	}
	files, err := o.dir.filesOf(e)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if by, ok := o.owners[name]; ok && by.ID > e.ID {
			return &Taken{name, by}, nil
		}
	}
	return nil, nil
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
		if taken == nil || e.Copy {
			continue
		}
		if err := d.markIncomplete(e); err != nil {
			return err
		}
		if err := x.SetComplete(e.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// filesOf lists the files of a dataset by their names from the prefix directory on, sorted. One whose metadata are damaged or gone
// has none, and neither has one whose files may have their hidden names yet.
func (d *Dir) filesOf(e Entry) ([]string, error) {
	p, err := d.Locate(e)
	var m *Map
	var s *Summary
	if err == nil {
		s, err = d.ReadSummary(p)
	}
	if err == nil && (s.Renames || s.Dropped) {
		return nil, nil
	}
	if err == nil {
		m, err = d.ReadMap(p)
	}
	switch {
	case errors.Is(err, fault.ErrMissing) || errors.Is(err, fs.ErrNotExist) || fault.IsDamage(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var all []string
	for _, name := range m.Paths() {
		rel, err := filepath.Rel(d.Path, filepath.Join(p.Data, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		all = append(all, filepath.ToSlash(rel))
	}
	return all, nil
}

// String tells it of a dataset.
func (t *Taken) String() string {
	return fmt.Sprintf("overwritten: dataset %d %s has its file %s", t.By.ID, fault.Quoted(t.By.Name), fault.Quoted(t.File))
}
