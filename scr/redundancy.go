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
	var sealed []group
	if !d.Bypass {
		g := group{name: cachedir.DataGroup}
		for _, f := range d.maps.Files() {
			g.files = append(g.files, f.Name)
		}
		var err error
		if mine, err = rd.encode(ctx, d, &g, mine); err != nil {
			return err
		}
		sums := d.level.set.Sums()
		for _, f := range d.maps.Files() {
			if crc, ok := sums[f.Name]; ok {
				f.Meta.CRC, f.Meta.HasCRC = crc, true
				d.maps.Put(f)
			}
		}
		sealed = append(sealed, g)
	}
	g := group{name: cachedir.MapGroup, files: []string{cachedir.FilemapName(d.Path, rd.c.Rank())}}
	if mine == nil {
		if mine = d.maps.Replace(rd.fs, g.files[0]); mine != nil { // Encode syncs the folder
			mine = fmt.Errorf("file map: %w", mine)
		}
	}
	mine, err := rd.encode(ctx, d, &g, mine)
	if err != nil {
		return err
	}
	entry := d.Cached
	entry.Dataset = ds
	entry.Dataset.Complete = true // this entry is written when all of the redundancy is on disk
	return rd.seal(ctx, d.level, entry, append(sealed, g), mine)
}

// group lists this rank's files of a group.
type group struct {
	name  string
	files []string // protected files, then redundancy files
}

// sumBypassed makes files in the prefix directory durable and records their checksums in the file maps, unless the user wants none.
// Collective. At a restart the files are compared with the cached maps.
func (rd *redundancy) sumBypassed(ctx context.Context, d *cachedSet) error {
	return rd.window(ctx, rd.p.flushWidth, func() error {
		files := d.maps.Files()
		for _, f := range files {
			crc, size, err := syncFile(ctx, rd.cfg.FS, f.Name, !rd.p.noSums)
			if err != nil {
				return err
			}
			if size != f.Meta.Size {
				return fmt.Errorf("%s: %w: size %d, want %d as in the file map", f.Name, ErrCorrupt, size, f.Meta.Size)
			}
			f.Meta.CRC, f.Meta.HasCRC = crc, !rd.p.noSums
			d.maps.Put(f)
		}
		return syncFolders(rd.cfg.FS, files)
	})
}

// encode protects the files of a group, and adds their redundancy files to the group. mine is the error that this rank already has,
// and own the one that it has afterwards; see EncodeNext.
func (rd *redundancy) encode(ctx context.Context, d *cachedSet, g *group, mine error) (own, err error) {
	set, prefix := d.level.set, groupPrefix(d.Path, g.name)
	own, err = set.EncodeNext(ctx, rd.fs, g.files, prefix, mine)
	if err != nil {
		return nil, fmt.Errorf("redundancy: %w", err)
	}
	if own != nil {
		own = fmt.Errorf("redundancy: %w", own)
	}
	g.files = append(g.files, set.Names(prefix)...)
	return own, nil
}

// seal writes, for each group, a list of the files on this device by rank, and marks the group as whole. e is the catalogue entry
// that the dataset will get. err is the error that this rank already has.
func (rd *redundancy) seal(ctx context.Context, l *level, e cachedir.Cached, groups []group, err error) error {
	var own []byte
	if err == nil {
		own, err = rd.packNames(groups)
	}
	parts, gerr := l.dc.Gather(ctx, 0, own)
	if err == nil {
		err = gerr
	}
	// A rank that has failed sends no names. All ranks get its error when they agree.
	if l.dc.Rank() == 0 && err == nil && !slices.ContainsFunc(parts, func(b []byte) bool { return len(b) == 0 }) {
		err = rd.writeSeals(e, groups, parts)
	}
	return rd.agree(ctx, err)
}

// writeSeals does the work of seal on the first rank of the device.
func (rd *redundancy) writeSeals(e cachedir.Cached, groups []group, parts [][]byte) error {
	for _, g := range groups {
		list, err := parseNames(parts, g.name)
		if err == nil {
			err = cachedir.WriteShuffile(rd.fs, e.Path, g.name, list)
		}
		if err == nil && g.name == cachedir.MapGroup {
			err = cachedir.WriteEncoded(rd.fs, g.name, e)
		} else if err == nil {
			err = cachedir.WriteState(rd.fs, e.Path, g.name, cachedir.StateEncoded)
		}
		if err != nil {
			return err
		}
	}
	if err := rd.fs.SyncDir(cachedir.MetaDir(e.Path)); err != nil {
		return err
	}
	return vfs.SyncParent(rd.fs, cachedir.MetaDir(e.Path))
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

// reseal rewrites the files that protect writes after the redundancy. It is called for a rebuilt dataset. An earlier run may have
// used another scheme, so the redundancy files are listed. Collective.
func (rd *redundancy) reseal(ctx context.Context, d *cachedSet) error {
	var groups []group
	if !d.Bypass {
		g := group{name: cachedir.DataGroup}
		for _, f := range d.maps.Files() {
			g.files = append(g.files, f.Name)
		}
		groups = append(groups, g)
	}
	groups = append(groups, group{name: cachedir.MapGroup, files: []string{cachedir.FilemapName(d.Path, rd.c.Rank())}})
	var err error
	for i := range groups {
		red, ferr := redset.Files(rd.fs, groupPrefix(d.Path, groups[i].name), rd.c.Rank())
		if err == nil {
			err = ferr
		}
		groups[i].files = append(groups[i].files, red...)
	}
	return rd.seal(ctx, d.level, d.Cached, groups, err)
}

// packNames packs the names of this rank's files. The first rank of a device gathers them for parseNames.
func (rd *redundancy) packNames(groups []group) ([]byte, error) {
	t := kvtree.New()
	t.Value("RANK").SetInt(rd.c.Rank())
	for _, g := range groups {
		files := t.SetAt(kvtree.New(), "FILE", g.name)
		i := 0
		for _, n := range g.files {
			if strings.HasSuffix(n, ".redsum") {
				continue // only this library writes this file, and the list contains only files that SCR writes
			}
			files.SetAt(kvtree.New(), strconv.Itoa(i), n)
			i++
		}
	}
	return kvtree.Pack(t)
}

// parseNames returns the files of a group from the lists that packNames made. Only the first rank of the device calls it.
// Therefore the ranks must agree on its error.
func parseNames(parts [][]byte, group string) (map[int][]string, error) {
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
		at := t.Get("FILE").Get(group)
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
