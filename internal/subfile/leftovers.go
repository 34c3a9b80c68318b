package subfile

import (
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// removeRecords durably removes records under temporary names.
func removeRecords(fsys vfs.FS, base string, by By) error {
	records, err := Records(fsys, base)
	if err != nil {
		return err
	}
	return by.remove(fsys, base, slices.DeleteFunc(records, func(name string) bool {
		_, tag, _ := Final(name)
		return tag != "" && tag == by.Tag
	}))
}

// remove durably removes files of base.
func (b By) remove(fsys vfs.FS, base string, names []string) error {
	for _, name := range names {
		if err := b.check(); err != nil {
			return err
		}
		if err := durable.Remove(fsys, name); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fsys.SyncDir(Dir(base))
}

// Records returns the records of base under temporary names, of all writers.
func Records(fsys vfs.FS, base string) (list []string, err error) {
	fsys = vfs.OrOS(fsys)
	dir, next, manifest := Dir(base), filepath.Base(NextName(base)), filepath.Base(ManifestName(base))
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if final, _, ok := Final(e.Name()); ok && (final == next || final == manifest) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// RemoveStale durably removes the files that Stale lists.
func RemoveStale(fsys vfs.FS, base string, m *Manifest, by By, known ...*Manifest) error {
	fsys = vfs.OrOS(fsys)
	stale, err := Stale(fsys, base, m, by.Holds, known...)
	if err != nil || len(stale) == 0 {
		return err
	}
	for _, name := range stale {
		if err := by.discard(fsys, name); err != nil {
			return err
		}
	}
	return fsys.SyncDir(Dir(base))
}

// removePartials removes the partial subfiles that unfinished writers of base left, in all sets. Files with final names stay.
func removePartials(fsys vfs.FS, base string, by By) error {
	partials, err := Partials(fsys, base)
	if err != nil {
		return err
	}
	for _, n := range partials {
		if err := by.discard(fsys, n); err != nil {
			return err
		}
	}
	return nil
}

// Partials returns the partial subfiles of base, of all sets and writers.
func Partials(fsys vfs.FS, base string) (list []string, err error) {
	fsys = vfs.OrOS(fsys)
	dir, name := Dir(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	others := othersIn(entries, name)
	for _, e := range entries {
		if set, _, ok := Split(e.Name()); ok && filepath.Ext(e.Name()) == partialSuffix && Base(e.Name()) == name && !others[set] {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// Stale returns the final names of base that the manifest m does not list. A replaced dataset with more subfiles, or a dead
// writer that used final names, may have left these files. But such a file ("F.nc.2024") may also belong to another program. So
// Stale returns a file only if a record in known lists it, or if holds reports that it is a subfile. Entries of known may be nil.
// Stale does not return the files of a dataset "F.nc+1" that has its own record.
func Stale(fsys vfs.FS, base string, m *Manifest, holds func(name string, i int) (bool, error), known ...*Manifest) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	dir, name := Dir(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	keep, listed := map[string]bool{}, map[string]bool{}
	m.eachName(func(name string) { keep[name] = true })
	for _, k := range known {
		k.eachName(func(name string) { listed[name] = true })
	}
	var stale []string
	others := othersIn(entries, name)
	for _, e := range entries {
		set, i, ok := Split(e.Name())
		if !ok || filepath.Ext(e.Name()) == partialSuffix || Base(e.Name()) != name || keep[e.Name()] || others[set] || !isFile(fsys, dir, e) {
			continue
		}
		file, is := filepath.Join(dir, e.Name()), listed[e.Name()]
		if !is && holds != nil {
			if is, err = holds(file, i); err != nil {
				return nil, err
			}
		}
		if is {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// Orphans returns the files of added sets of the dataset base, whose manifest is lost. holds has the meaning that it has in
// Stale.
func Orphans(fsys vfs.FS, base string, holds func(name string, i int) (bool, error)) (list []string, err error) {
	return Stale(fsys, base, nil, func(name string, i int) (bool, error) {
		if set, _, _ := Split(name); set == base {
			return false, nil
		}
		return holds(name, i)
	})
}

// LogRecords returns the number of records that the readable entries of the logs of base commit. It returns -1 if there is no
// entry.
func LogRecords(fsys vfs.FS, base string) (records int64, name string, err error) {
	logs, err := Logs(fsys, base)
	if err != nil {
		return -1, "", err
	}
	records = -1
	for _, l := range logs {
		b, err := readAll(fsys, l)
		if err != nil {
			return -1, "", err
		}
		for len(b) > 0 {
			e := new(Entry)
			n, _, err := entries.DecodeFirst(b, l, 0, e, &e.Version)
			if err != nil {
				if n = laterEntry(b, l, math.MaxInt64); n == 0 {
					break
				}
				b = b[n:]
				continue
			}
			b, records, name = b[n:], max(records, e.Records), l
		}
	}
	return records, name, nil
}

// othersIn returns the names of other datasets in a directory; see BaseAmong.
func othersIn(entries []fs.DirEntry, name string) map[string]bool {
	others := recordedIn(entries)
	delete(others, name)
	return others
}
