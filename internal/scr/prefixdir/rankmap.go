package prefixdir

import (
	"fmt"
	"maps"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Map lists the files of a dataset by the rank that wrote them. It is stored in the rank2file files.
type Map struct {
	Ranks  int            // number of ranks of the run that wrote the dataset
	Files  map[int][]File // by rank; ranks without files may be missing
	Listed int            // number of ranks in the map, with or without files
}

// Paths returns the sorted paths of the files that hold bytes of the dataset. Containers are included, each once.
func (m *Map) Paths() []string {
	if m == nil {
		return nil
	}
	set := map[string]bool{}
	for _, files := range m.Files {
		for _, f := range files {
			if len(f.Segments) == 0 {
				set[f.Path] = true
			}
			for _, s := range f.Segments {
				set[s.File] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Totals returns the number of application files and the sum of their known sizes.
func (m *Map) Totals() (files, size int64) {
	for _, list := range m.Files {
		for _, f := range list {
			if !f.NoFetch {
				files++
				size += f.Size
			}
		}
	}
	return files, size
}

// Owner finds a file of any rank by its path. A run that restarts with a different number of ranks asks for files by path.
func (m *Map) Owner(path string) (rank int, f File, ok bool) {
	for rank, list := range m.Files {
		for _, f := range list {
			if f.Path == path {
				return rank, f, true
			}
		}
	}
	return -1, File{}, false
}

// Check compares the map with the record of the dataset: all ranks are listed, no file failed, and numbers of files and bytes
// match. The error wraps ErrMissing if something is missing; any other difference is ErrCorrupt.
func (m *Map) Check(ds Dataset) error {
	if m.Listed != m.Ranks {
		return fmt.Errorf("the map of dataset %d lists %d ranks, want %d: %w", ds.ID, m.Listed, m.Ranks, fault.ErrMissing)
	}
	sizes := true
	for rank, list := range m.Files {
		for _, f := range list {
			if f.Failed {
				return fmt.Errorf("dataset %d, rank %d: %q was not written: %w", ds.ID, rank, f.Path, fault.ErrMissing)
			}
			sizes = sizes && (f.HasSize || f.NoFetch)
		}
	}
	files, size := m.Totals()
	switch {
	case files < ds.Files:
		return fmt.Errorf("the map of dataset %d has %d files, want %d: %w", ds.ID, files, ds.Files, fault.ErrMissing)
	case files > ds.Files:
		return fmt.Errorf("the map of dataset %d has %d files, want %d: %w", ds.ID, files, ds.Files, fault.ErrCorrupt)
	case sizes && size != ds.Size:
		return fmt.Errorf("the files of dataset %d have %d bytes, want %d: %w", ds.ID, size, ds.Size, fault.ErrCorrupt)
	}
	return nil
}

// add adds the tree of one rank.
func (m *Map) add(key string, t *kvtree.Tree, where string) error {
	rank, ok := record.Number(key)
	if !ok || rank >= m.Ranks {
		return fault.In(where, keyRank, fault.ErrCorrupt, "%.40q, want a rank below %d", key, m.Ranks)
	}
	if _, ok := m.Files[rank]; ok {
		return fault.In(where, keyRank, fault.ErrCorrupt, "rank %d is listed twice", rank)
	}
	files, err := ParseFiles(t, where)
	if err != nil {
		return err
	}
	if want := (&record.Fields{Tree: t}).Int("FILES", 0); want > len(files) {
		return fault.In(where, keyRank+"/"+key+"/FILES", fault.ErrMissing, "%d files, want %d", len(files), want)
	}
	m.Files[rank] = files
	m.Listed++
	return nil
}

// mapOf5 returns the map that a summary of version 5 contains.
func mapOf5(t *kvtree.Tree, where string) (*Map, error) {
	f := record.Fields{Tree: t, File: where}
	m := &Map{Ranks: f.Int(keyRanks, 0), Files: map[int][]File{}}
	if err := f.Err(); err != nil {
		return nil, err
	}
	for key, sub := range t.Get(keyRank).All() {
		if err := m.add(key, sub, where); err != nil {
			return nil, err
		}
	}
	return m, nil
}
