package scr

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"path"
	"strconv"

	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/kvcomm"
	"blobio/internal/vfs"
	"blobio/scr/internal/packfs"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// packer keeps the metadata of packed datasets.
type packer struct{ *job }

// tolerates is how many left neighbours' file maps a rank keeps a copy of: as many losses as its set survives.
func (l *level) tolerates() int {
	p := l.set.Place()
	n := 0
	switch l.set.Scheme() {
	case redset.Partner:
		n = int(max(l.Replicas, 1))
	case redset.XOR:
		n = 1
	case redset.RS:
		n = int(max(l.SetFailures, 1))
	}
	return min(n, len(p.Ranks)-1)
}

// copies brings the file map of this rank to its right neighbours in the set, and those of its left ones here, for parseMaps.
func (pk *packer) copies(ctx context.Context, l *level, m *cachedir.Filemap) (*kvtree.Tree, error) {
	p := l.set.Place()
	send := kvtree.New()
	for i := 1; i <= l.tolerates(); i++ {
		send.SetAt(m.Tree().Clone(), strconv.Itoa(p.Ranks[(p.Rank+i)%len(p.Ranks)]))
	}
	return kvcomm.Exchange(ctx, pk.c, send, nil)
}

func parseMaps(t *kvtree.Tree) (map[int]*cachedir.Filemap, error) {
	out := map[int]*cachedir.Filemap{}
	for key, sub := range t.All() {
		r, err := strconv.Atoi(key)
		if err != nil {
			return nil, err
		}
		if out[r], err = cachedir.ParseFilemap(sub.Clone(), "file map of rank "+key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pack writes the metadata of the ranks of a device into its one file; a collective.
func (pk *packer) pack(ctx context.Context, d *cachedSet, e cachedir.Cached) error {
	l := d.level
	got, err := pk.copies(ctx, l, d.maps)
	if err != nil {
		return pkg.Errorf("file maps: %w", err)
	}
	copies, err := parseMaps(got)
	var t *kvtree.Tree
	if err == nil {
		t, err = pk.packed(d, copies)
	}
	var b []byte
	if err == nil {
		b, err = t.Pack()
	}
	if err := pk.agree(ctx, err); err != nil {
		return pkg.Errorf("metadata: %w", err)
	}
	parts, err := l.dc.Gather(ctx, 0, b)
	if err != nil {
		return err
	}
	if l.dc.Rank() == 0 {
		err = pk.writePacked(e, parts)
	}
	return pk.agree(ctx, err)
}

// packed is what this rank has to put into the file: its map, the copies that it keeps, and its small files.
func (pk *packer) packed(d *cachedSet, copies map[int]*cachedir.Filemap) (*kvtree.Tree, error) {
	t := kvtree.New()
	t.SetAt(d.maps.Tree().Clone(), "MAP", strconv.Itoa(pk.c.Rank()))
	for r, m := range copies {
		t.SetAt(m.Tree().Clone(), "COPY", strconv.Itoa(r))
	}
	names, err := redset.Files(pk.fs, groupPrefix(d.Path, cachedir.DataGroup), pk.c.Rank())
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if packfs.OnDisk(path.Base(n)) {
			continue
		}
		b, err := vfs.ReadFile(pk.fs, n, 1<<28)
		if err != nil {
			return nil, err
		}
		t.SetAt(kvtree.New(), "FILE", path.Base(n), base64.RawStdEncoding.EncodeToString(b))
	}
	return t, nil
}

func (pk *packer) writePacked(e cachedir.Cached, parts [][]byte) error {
	p := &cachedir.Packed{Entry: &e, Maps: map[int]*cachedir.Filemap{}, Copies: map[int]*cachedir.Filemap{}, State: cachedir.StateEncoded, Files: map[string][]byte{}}
	for _, b := range parts {
		t, err := kvtree.Unpack(b, nil)
		if err != nil {
			return err
		}
		maps, err := parseMaps(t.Get("MAP"))
		if err != nil {
			return err
		}
		copies, err := parseMaps(t.Get("COPY"))
		if err != nil {
			return err
		}
		for r, m := range maps {
			p.Maps[r] = m
		}
		for r, m := range copies {
			p.Copies[r] = m
		}
		for name, sub := range t.Get("FILE").All() {
			text, _ := sub.First()
			if p.Files[name], err = base64.RawStdEncoding.DecodeString(text); err != nil {
				return err
			}
		}
	}
	return p.Write(pk.bind, e.Path)
}

// unpack makes the metadata of a device visible to its ranks, as files; a collective. What is damaged is lost.
func (pk *packer) unpack(ctx context.Context, d *cachedSet) error {
	l := d.level
	pk.fs.Forget(d.Path)
	pk.fs.Add(d.Path)
	var b []byte
	var err error
	d.copies = nil
	if l.dc.Rank() == 0 {
		b, err = vfs.ReadFile(pk.bind, cachedir.PackedName(d.Path), 1<<30)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil && b != nil {
			if _, perr := cachedir.ReadPacked(pk.bind, d.Path); perr != nil {
				pk.log.Warn("scr: metadata of a dataset on a node is damaged", "node", pk.node.name, "err", perr)
				b = nil
			}
		}
	}
	if err := pk.agree(ctx, err); err != nil {
		return pkg.Errorf("cache: %w", err)
	}
	if b, err = l.dc.Bcast(ctx, 0, b); err != nil {
		return err
	}
	err = func() error {
		if len(b) == 0 {
			return nil
		}
		mem := vfs.NewMem()
		if err := mem.MkdirAll(cachedir.MetaDir(d.Path)); err != nil {
			return err
		}
		if err := vfs.WriteFile(mem, cachedir.PackedName(d.Path), b); err != nil {
			return err
		}
		p, err := cachedir.ReadPacked(mem, d.Path)
		if err != nil {
			return err
		}
		for r, m := range p.Maps {
			if err := m.Write(pk.fs, cachedir.FilemapName(d.Path, r)); err != nil {
				return err
			}
		}
		for name, b := range p.Files {
			if err := vfs.WriteFile(pk.fs, path.Join(cachedir.MetaDir(d.Path), name), b); err != nil {
				return err
			}
		}
		d.copies = p.Copies
		return nil
	}()
	return pk.agree(ctx, err)
}

// lostMaps gets the file maps of ranks that have none from the copies that neighbours keep; a collective.
func (pk *packer) lostMaps(ctx context.Context, d *cachedSet) error {
	l := d.level
	name := cachedir.FilemapName(d.Path, pk.c.Rank())
	have := []byte{1}
	if _, err := cachedir.ReadFilemap(pk.fs, name); err != nil {
		have[0] = 0
	}
	all, err := pk.c.Allgather(ctx, have)
	if err != nil {
		return err
	}
	send := kvtree.New()
	if l.dc.Rank() == 0 {
		for r, h := range all {
			if m := d.copies[r]; len(h) == 1 && h[0] == 0 && m != nil {
				send.SetAt(m.Tree().Clone(), strconv.Itoa(r))
			}
		}
	}
	got, err := kvcomm.Exchange(ctx, pk.c, send, nil)
	if err != nil {
		return err
	}
	if have[0] == 0 {
		err = pkg.Errorf("file map of rank %d: %w: no neighbour has a copy", pk.c.Rank(), ErrMissing)
		maps, perr := parseMaps(got)
		if perr != nil {
			err = perr
		}
		for _, m := range maps {
			err = m.Write(pk.fs, name)
			break
		}
	}
	return pk.agree(ctx, err)
}
