package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/fault"
)

// Presence checks that complete datasets of an index are there: summary, map, and every file by its name. Each folder is
// listed once; sizes and bytes are not compared.
type Presence struct {
	dir     *Dir
	folders map[string]map[string]bool // names of files, by folder; nil: there is no such folder
}

// Presence looks for the files of datasets. It is for one moment: it looks at each folder only once.
func (d *Dir) Presence() *Presence { return &Presence{dir: d, folders: map[string]map[string]bool{}} }

// Of says why a dataset that its entry calls complete is of no use: something is missing, or damaged. gone is nil if everything
// is there, and for an entry that is not complete. err is about the file system.
func (p *Presence) Of(e Entry) (gone, err error) {
	if !e.Complete {
		return nil, nil
	}
	err = p.look(e)
	switch {
	case err == nil || fault.Exhausted(err):
		return nil, err
	case lost(err) || errors.Is(err, fault.ErrCorrupt):
		return err, nil
	}
	return nil, err
}

func (p *Presence) look(e Entry) error {
	at, err := p.dir.Datasets.Locate(e)
	if err != nil {
		return err
	}
	s, err := p.dir.Datasets.ReadSummary(at)
	if err != nil {
		return err
	}
	if !s.Complete && !s.Renames { // an install lists it first
		return fault.In(filepath.Join(at.Meta, summaryName), keyComplete, fault.ErrMissing, "0, want 1, as in the index")
	}
	m, err := p.dir.Datasets.ReadMap(at)
	if err != nil {
		return err
	}
	if err := m.Check(s.Dataset); err != nil {
		return err
	}
	for _, name := range m.Paths() {
		at := filepath.Join(at.Data, filepath.FromSlash(name))
		there, err := p.holds(at)
		if err == nil && !there {
			err = fmt.Errorf("%s: %w", at, fault.ErrMissing)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether there is a file of a name.
func (p *Presence) holds(name string) (bool, error) {
	folder, base := filepath.Split(name)
	names, known := p.folders[folder]
	if !known {
		list, err := p.dir.fs().ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err == nil {
			names = make(map[string]bool, len(list))
		}
		for _, x := range list {
			switch {
			case x.Type()&fs.ModeSymlink != 0:
				st, err := p.dir.fs().Stat(filepath.Join(folder, x.Name()))
				names[x.Name()] = err == nil && st.Mode().IsRegular()
			default:
				names[x.Name()] = x.Type().IsRegular()
			}
		}
		p.folders[folder] = names
	}
	return names[base], nil
}
