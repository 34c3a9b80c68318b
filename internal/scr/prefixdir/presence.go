package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/fault"
)

// Presence checks that the parts of complete datasets exist: summary, map, and each file. It does not compare sizes or bytes.
type Presence struct {
	dir     *Dir
	folders map[string]map[string]bool // names of the files in each folder; nil: the folder does not exist
}

// Presence returns a checker. It lists each folder only once, and therefore does not see later changes.
func (d *Dir) Presence() *Presence { return &Presence{dir: d, folders: map[string]map[string]bool{}} }

// Of checks a dataset. If the index lists the dataset as complete but a file is missing or damaged, gone is the reason. gone is
// nil if everything exists, or if the entry is incomplete. err is an error of the file system.
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
	if !s.Complete && !s.Renames { // an installation lists the dataset as complete before it completes the summary
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

func (p *Presence) holds(name string) (bool, error) {
	folder, base := filepath.Dir(name), filepath.Base(name)
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
