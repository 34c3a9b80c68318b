package scr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// redundancy protects cached datasets against losses, and rebuilds lost files.
type redundancy struct{ *job }

// protect makes the redundancy of a dataset. It first protects the files, which also gives their checksums. Then it protects the
// file maps, which contain the checksums. With bypass the files are in the prefix directory, and install has recorded their
// checksums. Then protect protects only the maps. mine is the error that this rank already has.
func (rd *redundancy) protect(ctx context.Context, d *cachedSet, ds record.Dataset, mine error) error {
	if err := rd.step("encode"); err != nil {
		return err
	}
	l, entry := d.level, d.Cached
	entry.Dataset = ds
	entry.Dataset.Complete = true // this entry is written when all of the redundancy is on disk
	if !d.Bypass {
		var names []string
		for _, f := range d.maps.Files() {
			names = append(names, f.Name)
		}
		if err := rd.encode(ctx, l, entry, cachedir.DataGroup, names, mine); err != nil {
			return err
		}
		sums := l.set.Sums()
		for _, f := range d.maps.Files() {
			if crc, ok := sums[f.Name]; ok {
				f.Meta.CRC, f.Meta.HasCRC = crc, true
				d.maps.Put(f)
			}
		}
	}
	name := cachedir.FilemapName(d.Path, rd.c.Rank())
	if mine == nil {
		if mine = d.maps.Replace(rd.fs, name); mine != nil { // Encode syncs the folder
			mine = fmt.Errorf("file map: %w", mine)
		}
	}
	return rd.encode(ctx, l, entry, cachedir.MapGroup, []string{name}, mine)
}

// sumBypassed records checksums of files already in the prefix directory in the file maps, and makes the maps durable.
// Collective. At a restart the files are compared with the cached maps.
func (rd *redundancy) sumBypassed(ctx context.Context, d *cachedSet) error {
	return rd.window(ctx, rd.p.flushWidth, func() error {
		files := d.maps.Files()
		for _, f := range files {
			crc, size, err := syncFile(ctx, rd.cfg.FS, f.Name)
			if err != nil {
				return err
			}
			if size != f.Meta.Size {
				return fmt.Errorf("%s: %w: size %d, want %d as in the file map", f.Name, ErrCorrupt, size, f.Meta.Size)
			}
			f.Meta.CRC, f.Meta.HasCRC = crc, true
			d.maps.Put(f)
		}
		return syncFolders(rd.cfg.FS, files)
	})
}

// encode protects the files of one group. mine is the error that this rank already has.
func (rd *redundancy) encode(ctx context.Context, l *level, e cachedir.Cached, group string, names []string, mine error) error {
	if err := rd.agree(ctx, mine); err != nil {
		return err
	}
	if err := l.set.Encode(ctx, rd.fs, names, groupPrefix(e.Path, group)); err != nil {
		return fmt.Errorf("redundancy: %w", err)
	}
	return rd.sealGroup(ctx, l, e, group, slices.Concat(names, l.set.Names(groupPrefix(e.Path, group))), nil)
}

// sealGroup writes a list of the group's files on this device, by rank, and marks the group as whole. e is the catalogue entry
// that the dataset will get. names are this rank's files of the group and their redundancy files. err is the error that this rank
// already has.
func (rd *redundancy) sealGroup(ctx context.Context, l *level, e cachedir.Cached, group string, names []string, err error) error {
	var own []byte
	if err == nil {
		own, err = rd.ownNames(names)
	}
	parts, gerr := l.dc.Gather(ctx, 0, own)
	if err == nil {
		err = gerr
	}
	// A rank that has failed sends no names. All ranks get its error when they agree.
	if l.dc.Rank() == 0 && err == nil && !slices.ContainsFunc(parts, func(b []byte) bool { return len(b) == 0 }) {
		var list map[int][]string
		if list, err = parseNames(parts); err == nil {
			err = cachedir.WriteShuffile(rd.fs, e.Path, group, list) // the state file is written next and syncs the folder
		}
		switch {
		case err != nil:
		case group == cachedir.MapGroup: // made last
			err = cachedir.WriteEncoded(rd.fs, group, e)
		default:
			err = cachedir.WriteState(rd.fs, e.Path, group, cachedir.StateEncoded)
		}
		if err == nil {
			err = vfs.SyncParent(rd.fs, cachedir.MetaDir(e.Path))
		}
	}
	return rd.agree(ctx, err)
}

// recoverMaps rebuilds lost or damaged file maps of a dataset. Collective.
func (rd *redundancy) recoverMaps(ctx context.Context, d *cachedSet) error {
	_, err := redset.Recover(ctx, rd.c, rd.fs, groupPrefix(d.Path, cachedir.MapGroup), &redset.RecoverOptions{Sure: true, Lost: rd.damagedMap})
	if err != nil {
		return fmt.Errorf("file maps: %w", err)
	}
	return nil
}

// damagedMap reports whether a file map exists but does not match its checksum.
func (rd *redundancy) damagedMap(name string) bool {
	_, err := cachedir.ReadFilemap(rd.fs, name)
	var f *fault.FormatError
	return errors.As(err, &f)
}

// recoverFiles rebuilds lost or damaged files of a dataset. Collective.
func (rd *redundancy) recoverFiles(ctx context.Context, d *cachedSet) (*redset.Report, error) {
	return redset.Recover(ctx, rd.c, rd.fs, groupPrefix(d.Path, cachedir.DataGroup), nil)
}

// reseal rewrites the files that protect writes after the redundancy. It is called for a rebuilt dataset. Collective.
func (rd *redundancy) reseal(ctx context.Context, d *cachedSet) error {
	if !d.Bypass {
		var names []string
		for _, f := range d.maps.Files() {
			names = append(names, f.Name)
		}
		if err := rd.resealGroup(ctx, d, cachedir.DataGroup, names); err != nil {
			return err
		}
	}
	return rd.resealGroup(ctx, d, cachedir.MapGroup, []string{cachedir.FilemapName(d.Path, rd.c.Rank())})
}

// resealGroup does the work of reseal for one group. An earlier run may have used another scheme, so the redundancy files are
// listed.
func (rd *redundancy) resealGroup(ctx context.Context, d *cachedSet, group string, names []string) error {
	red, err := redset.Files(rd.fs, groupPrefix(d.Path, group), rd.c.Rank())
	return rd.sealGroup(ctx, d.level, d.Cached, group, slices.Concat(names, red), err)
}

// ownNames packs the names of this rank's files. The first rank of a device gathers them for parseNames.
func (rd *redundancy) ownNames(names []string) ([]byte, error) {
	t := kvtree.New()
	t.Value("RANK").SetInt(rd.c.Rank())
	files := t.SetAt(kvtree.New(), "FILE")
	i := 0
	for _, n := range names {
		if strings.HasSuffix(n, ".redsum") {
			continue // only this library writes this file, and the list contains only files that SCR writes
		}
		files.SetAt(kvtree.New(), strconv.Itoa(i), n)
		i++
	}
	return kvtree.Pack(t)
}

// parseNames parses the lists that ownNames made. Only the first rank of the device calls it. Therefore the ranks must agree on
// its error.
func parseNames(parts [][]byte) (map[int][]string, error) {
	out := map[int][]string{}
	for _, p := range parts {
		t, err := kvtree.Unpack(p, nil)
		if err != nil {
			return nil, err
		}
		r, err := t.Value("RANK").Int()
		if err != nil {
			return nil, err
		}
		at := t.Get("FILE")
		for i := range at.Len() {
			n, _ := at.Get(strconv.Itoa(i)).First()
			out[r] = append(out[r], n)
		}
		if out[r] == nil {
			out[r] = []string{}
		}
	}
	return out, nil
}
