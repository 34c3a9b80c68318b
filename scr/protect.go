package scr

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/redset"
	"blobio/scr/cachedir"
)

// protect makes the redundancy of a dataset: first of the files, of which that also tells the checksums, then of the
// file maps that hold these. With bypass the files are in the prefix directory and only the maps are protected.
func (s *Session) protect(ctx context.Context, d *cachedSet) error {
	if err := s.step("encode"); err != nil {
		return err
	}
	l := &s.levels[d.level]
	if !d.Bypass {
		var names []string
		for _, f := range d.maps.Files() {
			names = append(names, f.Name)
		}
		if err := s.encode(ctx, l, d.Path, cachedir.DataGroup, names); err != nil {
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
	name := cachedir.FilemapName(d.Path, s.c.Rank())
	err := d.maps.Write(s.fs, name)
	if err := s.agree(ctx, err); err != nil {
		return fmt.Errorf("scr: file map: %w", err)
	}
	if d.Packed {
		return s.pack(ctx, d)
	}
	return s.encode(ctx, l, d.Path, cachedir.MapGroup, []string{name})
}

// encode protects the files of one group.
func (s *Session) encode(ctx context.Context, l *level, dir, group string, names []string) error {
	var err error
	if l.dc.Rank() == 0 {
		err = cachedir.WriteState(s.fs, dir, group, cachedir.StateCorrupt)
	}
	if err := s.agree(ctx, err); err != nil {
		return fmt.Errorf("scr: redundancy: %w", err)
	}
	if err := l.set.Encode(ctx, s.fs, names, groupPrefix(dir, group)); err != nil {
		return fmt.Errorf("scr: redundancy: %w", err)
	}
	return s.sealGroup(ctx, l, dir, group, names)
}

// sealGroup writes which files of which ranks the device has of a group, and that the group is whole.
func (s *Session) sealGroup(ctx context.Context, l *level, dir, group string, names []string) error {
	list, err := s.gatherNames(ctx, l, dir, group, names)
	if err != nil {
		return err
	}
	if l.dc.Rank() == 0 {
		if err = cachedir.WriteShuffile(s.fs, dir, group, list); err == nil {
			err = cachedir.WriteState(s.fs, dir, group, cachedir.StateEncoded)
		}
		if err == nil {
			err = vfs.SyncParent(s.fs, cachedir.MetaDir(dir))
		}
	}
	return s.agree(ctx, err)
}

// gatherNames brings the files of the ranks of a device to its first rank: those of the group, and their redundancy
// files.
func (s *Session) gatherNames(ctx context.Context, l *level, dir, group string, names []string) (map[int][]string, error) {
	red, err := redset.Files(s.fs, groupPrefix(dir, group), s.c.Rank())
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	t := kvtree.New()
	t.SetInt("RANK", s.c.Rank())
	files := t.SetAt(kvtree.New(), "FILE")
	i := 0
	for _, n := range slices.Concat(names, red) {
		if strings.HasSuffix(n, ".redsum") {
			continue // ours: in the list of the reference is what the reference writes
		}
		files.SetAt(kvtree.New(), strconv.Itoa(i), n)
		i++
	}
	b, err := t.Pack()
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	parts, err := l.dc.Gather(ctx, 0, b)
	if err != nil {
		return nil, err
	}
	out := map[int][]string{}
	for _, p := range parts {
		t, err := kvtree.Unpack(p, nil)
		if err != nil {
			return nil, err
		}
		r, err := t.Int("RANK")
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
