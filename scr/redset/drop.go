package redset

import (
	"errors"
	"io/fs"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// Files returns the names of the redundancy files of a world rank that are there: descriptors, checksums, and the one with
// header and payload, of any scheme and generation.
func Files(fsys vfs.FS, prefix string, rank int) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	all, err := list(fsys, prefix)
	if err != nil {
		return nil, err
	}
	var v []string
	seen := map[string]bool{}
	add := func(names []string) error {
		for _, name := range names {
			if seen[name] {
				continue
			}
			if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			seen[name] = true
			v = append(v, name)
		}
		return nil
	}
	// What is left of a rank whose redundancy file is gone.
	p := position{world: rank}
	if err := add([]string{p.descName(prefix), p.sumName(prefix)}); err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.gen != GenC {
			if h, err := readHeader(fsys, f); err == nil {
				f.world = h.world
			}
		}
		if f.world == rank {
			if err := add(f.names(prefix)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Drop removes the redundancy files of a world rank. The files that they protect stay.
func Drop(fsys vfs.FS, prefix string, rank int) error {
	fsys = vfs.OrOS(fsys)
	names, err := Files(fsys, prefix, rank)
	if err != nil {
		return err
	}
	for i := range names { // the redundancy file first: without it nothing is trusted
		if err := durable.Remove(fsys, names[len(names)-1-i]); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return fsys.SyncDir(dirOf(prefix))
	}
	return nil
}
