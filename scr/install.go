package scr

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"blobio/internal/scr/prefixdir"
)

// install handles a dataset written with bypass. When all its files are whole, install records this, with their checksums. Then
// renameAll may give them their final names. Collective. prefixdir.Hidden describes the states after a crash.
func (wr *writer) install(ctx context.Context, w *writing) error {
	if err := wr.redundancy.sumBypassed(ctx, w.cachedSet); err != nil {
		return err
	}
	own, mine := wr.listed(w)
	parts, err := wr.c.Gather(ctx, 0, own)
	if err != nil {
		return err
	}
	missing := slices.ContainsFunc(parts, func(b []byte) bool { return len(b) == 0 }) // a rank has failed
	if wr.c.Rank() == 0 && mine == nil && !missing {
		mine = wr.record(w, parts)
	}
	over, err := wr.anyOrError(ctx, w.over, mine)
	if err != nil {
		return err
	}
	w.whole, wr.unfinished = true, true
	var lost map[int]bool
	if over { // do this only if necessary, because Claims reads the maps of all datasets
		err = wr.onRoot(ctx, func() (err error) {
			lost, err = wr.takeAll(ctx, w, parts)
			return err
		})
		if err != nil {
			return err
		}
	}
	return wr.overwrite(ctx, w, lost)
}

// listed lists the files of this rank for the map. After an error the list is empty.
func (wr *writer) listed(w *writing) ([]byte, error) {
	var files []prefixdir.File
	for _, f := range w.maps.Files() {
		rel, err := wr.relative(path.Join(f.Meta.Path, f.Meta.Name))
		if err != nil {
			return nil, err
		}
		files = append(files, prefixdir.File{Path: rel, Size: f.Meta.Size, HasSize: true, CRC: f.Meta.CRC, HasCRC: f.Meta.HasCRC})
	}
	return packFiles(files)
}

// record writes the map, and records that all files of the dataset are whole. Rank 0 only.
func (wr *writer) record(w *writing, parts [][]byte) error {
	if err := wr.step("whole"); err != nil {
		return err
	}
	if err := wr.index.writeMap(w.ds.ID, parts); err != nil {
		return err
	}
	return wr.index.dir.BeginInstall(w.ds)
}

// takeAll marks datasets that have files with the same names as incomplete, and returns them. Rank 0 only.
func (wr *writer) takeAll(ctx context.Context, w *writing, parts [][]byte) (map[int]bool, error) {
	names, err := filesIn(parts)
	if err != nil {
		return nil, err
	}
	c, err := wr.index.dir.Claims(w.ds)
	if err != nil {
		return nil, err
	}
	return wr.index.takeOver(ctx, c, w.ds, slices.Sorted(maps.Keys(names))...)
}

// overwrite deletes the cache entries of older datasets that have files with the same names. Collective.
func (wr *writer) overwrite(ctx context.Context, w *writing, lost map[int]bool) error {
	for _, d := range slices.Clone(wr.cache.sets) {
		if d == w.cachedSet || !d.Bypass || !d.usable {
			continue
		}
		mine := lost[d.ID]
		for _, f := range w.maps.Files() {
			_, has := d.maps.File(path.Join(f.Meta.Path, f.Meta.Name))
			mine = mine || has
		}
		if any, err := wr.anyRank(ctx, mine); err != nil {
			return err
		} else if any {
			if err := wr.cache.drop(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// renameAll gives the files of this rank their final names.
func (wr *writer) renameAll(w *writing) error {
	if err := wr.step("rename"); err != nil {
		return err
	}
	files := w.maps.Files()
	absent, err := wr.index.dir.Rename(func(yield func(string) bool) {
		for _, f := range files {
			if !yield(path.Join(f.Meta.Path, f.Meta.Name)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		old := f.Name
		f.Name = path.Join(f.Meta.Path, f.Meta.Name)
		if !slices.Contains(absent, f.Name) {
			// its size is the size of the hidden file
		} else if st, err := wr.cfg.FS.Stat(f.Name); err != nil {
			return err
		} else if st.Size() != f.Meta.Size {
			return fmt.Errorf("%s: %w: size %d, want %d as in the hidden file", f.Name, ErrCorrupt, st.Size(), f.Meta.Size)
		}
		w.maps.Put(f)
		w.maps.Remove(old)
	}
	return nil
}

// finish completes a failed install, before its hidden names are used again. Collective.
func (wr *writer) finish(ctx context.Context) error {
	if !wr.unfinished {
		return nil
	}
	err := wr.onRoot(ctx, func() error { return wr.index.finishInstalls(ctx) })
	wr.unfinished = err != nil
	return err
}
