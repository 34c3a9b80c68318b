package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/zeebo/xxh3"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
	"blobio/scr/kvtree"
)

// holding describes the files of a dataset that are on one device.
type holding struct {
	device int
	ranks  []int      // ranks whose files are on the device, ascending
	names  [][]uint64 // hashes of the names of each rank's files, with the same indexes as ranks
	world  int        // number of ranks that wrote the dataset, from a redundancy file; 0 if unknown
}

// held returns the holdings of all devices. The result is the same on all ranks.
func (mv *mover) held(ctx context.Context, d *cachedSet, l *level) ([]holding, error) {
	var mine []byte
	var err error
	if l.dc.Rank() == 0 {
		var names map[int][]string
		if names, err = ranksIn(mv.fs, d.Path); err == nil {
			mine = binary.BigEndian.AppendUint32(mine, uint32(mv.worldOf(d.Path, names)))
			for _, r := range slices.Sorted(maps.Keys(names)) {
				files := mv.userFiles(d.Path, r)
				mine = binary.BigEndian.AppendUint32(mine, uint32(r))
				mine = binary.BigEndian.AppendUint32(mine, uint32(len(files)))
				for _, n := range files {
					mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(n))
				}
			}
		}
	}
	if err := mv.agree(ctx, err); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	parts, err := mv.c.Allgather(ctx, mine)
	if err != nil {
		return nil, err
	}
	var out []holding
	for r, b := range parts {
		if len(b) == 0 {
			continue
		}
		h := holding{device: l.devices[r], world: int(binary.BigEndian.Uint32(b))}
		for b = b[4:]; len(b) >= 8; {
			h.ranks = append(h.ranks, int(binary.BigEndian.Uint32(b)))
			var names []uint64
			n := int(binary.BigEndian.Uint32(b[4:]))
			for b = b[8:]; n > 0 && len(b) >= 8; n-- {
				names = append(names, binary.BigEndian.Uint64(b))
				b = b[8:]
			}
			h.names = append(h.names, names)
		}
		out = append(out, h)
	}
	return out, nil
}

// ranksIn returns the files in the metadata folder of a dataset, by rank.
func ranksIn(fsys vfs.FS, dir string) (map[int][]string, error) {
	list, err := fsys.ReadDir(cachedir.MetaDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[int][]string{}
	for _, e := range list {
		if r, ok := cachedir.RankOf(e.Name()); ok {
			out[r] = append(out[r], path.Join(cachedir.MetaDir(dir), e.Name()))
		}
	}
	return out, nil
}

// worldOf returns the number of ranks that wrote the dataset, from the file maps, or 0 if it is unknown.
func (mv *mover) worldOf(dir string, names map[int][]string) int {
	for r := range names {
		m, err := cachedir.ReadFilemap(mv.fs, cachedir.FilemapName(dir, r))
		if err != nil {
			continue
		}
		for _, f := range m.Files() {
			if f.Meta.Ranks > 0 {
				return f.Meta.Ranks
			}
		}
	}
	return 0
}

// userFiles returns the application files of a rank that are on a device. They are listed in the rank's file map or in the
// device's list, and are in the dataset's folder. If the device's list assigns a file to another rank, the file map is ignored
// for this file, because files of different ranks may have equal names (see collide).
func (mv *mover) userFiles(dir string, rank int) []string {
	list, err := cachedir.ReadShuffile(mv.fs, dir, cachedir.DataGroup)
	if err != nil {
		list = nil
	}
	others := map[string]bool{}
	for r, names := range list {
		for _, n := range names {
			if r != rank {
				others[path.Clean(n)] = true
			}
		}
	}
	seen := map[string]bool{}
	var out []string
	add := func(name string) {
		name = path.Clean(name)
		if seen[name] || others[name] || !inFolder(dir, name) {
			return
		}
		seen[name] = true
		if _, err := mv.fs.Stat(name); err == nil {
			out = append(out, name)
		}
	}
	if m, err := cachedir.ReadFilemap(mv.fs, cachedir.FilemapName(dir, rank)); err == nil {
		for _, f := range m.Files() {
			add(f.Name)
		}
	}
	for _, n := range list[rank] {
		add(n)
	}
	return out
}

// inFolder reports whether a path is below the folder of a dataset but not in its metadata folder.
func inFolder(dir, name string) bool {
	return len(name) > len(dir)+1 && name[:len(dir)+1] == dir+"/" && path.Dir(name) != cachedir.MetaDir(dir)
}

// adopt looks for caches that SCR 1 or 2 (generations A and B) left on the nodes. It saves the newest checkpoint that can be
// completed to the prefix directory, as after a crash. The run can then restart from this checkpoint, unless a newer one is in
// the prefix directory or in the caches. The old caches stay unchanged.
func (sv *salvager) adopt(ctx context.Context) error {
	node := salvage.Node{Name: sv.node.name, FS: sv.fs, Catalog: sv.catalog.file()}
	var mine []byte
	var err error
	if sv.node.c.Rank() == 0 && !sv.p.cachePurge && sv.p.distribute {
		if mine, err = sv.oldSets(node); err != nil {
			sv.log.Warn("scr: caches of an older SCR cannot be read", "node", sv.node.name, "err", err)
			mine, err = nil, nil
		}
	}
	all, err := sv.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	found := map[int]record.Dataset{}
	for _, b := range all {
		if len(b) == 0 {
			continue
		}
		t, err := kvtree.Unpack(b, nil) // all ranks have the same bytes
		if err != nil {
			return err
		}
		for _, sub := range t.All() {
			ds, err := record.ParseDataset(sub, "")
			if err != nil {
				return err
			}
			if old, ok := found[ds.ID]; !ok || better(ds, old) {
				found[ds.ID] = ds
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	var ids []int
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	newest := sv.cache.ids.set
	for _, ds := range found { // the folders of these datasets stay, and their numbers must not be used again
		sv.cache.ids.atLeast(ds.ID, ds.Ckpt)
	}
	for _, id := range slices.Backward(ids) {
		ds := found[id]
		if !ds.Checkpoint || !ds.Complete || id <= newest {
			continue
		}
		newer := false
		err := sv.onRoot(ctx, func() (err error) {
			newer, err = sv.index.hasFrom(id)
			return err
		})
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if newer, err = sv.rootSays(ctx, newer); err != nil || newer {
			return err
		}
		sv.warn("scr: copying a checkpoint from caches of an older SCR to the prefix directory", "dataset", ds.Name, "id", id)
		ok, err := sv.save(ctx, node, ds)
		if err != nil || ok {
			return err
		}
	}
	return nil
}

// oldSets lists the datasets of generations A and B on a node.
func (sv *salvager) oldSets(node salvage.Node) ([]byte, error) {
	if all, err := cachedir.Survey(sv.fs, path.Join(sv.p.job.Control, cachedir.MasterName)); err == nil && len(all) == 0 {
		return nil, nil // normally there are none
	}
	all, err := salvage.Survey(node)
	t := kvtree.New()
	for _, h := range all {
		if h.Old && h.Dataset.ID > 0 {
			t.Set(fmt.Sprint(h.ID), h.Dataset.Tree())
		}
	}
	if t.Len() == 0 {
		return nil, err
	}
	return kvtree.Pack(t)
}
