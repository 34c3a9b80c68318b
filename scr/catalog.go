package scr

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"blobio/internal/durable"
	"blobio/internal/vfs"
	"blobio/scr/cachedir"
	"blobio/scr/salvage"
)

// cindex is the name of the catalogue of this node.
func (s *Session) cindex() string { return path.Join(s.p.control, cachedir.CatalogName) }

// list changes the catalogue of this node. The first rank of the node calls it; the others return at once.
func (s *Session) list(change func(c *cachedir.Catalog)) error {
	if s.node.c.Rank() != 0 {
		return nil
	}
	c, err := cachedir.ReadCatalog(s.fs, s.cindex())
	if err != nil && s.remade != nil {
		c, err = s.remade, nil // what cannot be read is replaced
	}
	if err != nil {
		return err
	}
	change(c)
	return c.Write(s.fs, s.cindex())
}

// findCatalog reads the catalogue of this node. One that is lost, damaged or unreadable is made again from what is in the
// caches; folders there of which nothing is known are set aside, for a person to look at, and not used: they may be of
// an older dataset of the same number. Whatever else is lost with the catalogue the other nodes make up for. The first rank of the
// node calls it.
func (s *Session) findCatalog() (*cachedir.Catalog, error) {
	_, serr := s.fs.Stat(s.cindex())
	c, err := cachedir.ReadCatalog(s.fs, s.cindex())
	if err == nil && !errors.Is(serr, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		s.log.Warn("scr: the catalogue of a node cannot be used", "node", s.node.name, "err", err)
	}
	var dirs []string
	for i := range s.levels {
		if l := &s.levels[i]; l.Enabled && !l.shared && s.ownDevice(l) && !slices.Contains(dirs, l.dir) {
			dirs = append(dirs, l.dir)
		}
	}
	c, unknown, err := cachedir.Rebuild(s.fs, dirs...)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{} // folders of SCR 1 and 2, which have maps of their own
	if all, err := salvage.Survey(salvage.Node{FS: s.fs, Catalog: s.cindex()}); err == nil || isFormat(err) {
		for _, h := range all {
			old[path.Clean(h.Path)] = old[path.Clean(h.Path)] || h.Old
		}
	}
	for _, dir := range unknown {
		if old[dir] {
			continue
		}
		to, err := s.setAside(dir)
		if err != nil {
			return nil, err
		}
		s.log.Warn("scr: a cached dataset that no catalogue lists is set aside; delete it when nobody needs it", "node", s.node.name, "folder", dir, "now", to)
	}
	if c.Len() == 0 && serr != nil && errors.Is(serr, fs.ErrNotExist) {
		return c, nil // a node that is new
	}
	s.log.Warn("scr: the catalogue of a node is made again from its caches", "node", s.node.name, "datasets", c.Len())
	s.remade = c
	return c, c.Write(s.fs, s.cindex())
}

// ownDevice says whether only ranks of this node have the device of a store: otherwise another catalogue may list what is there.
func (s *Session) ownDevice(l *level) bool {
	for r, d := range l.devices {
		if d == l.device && s.node.names[r] != s.node.name {
			return false
		}
	}
	return true
}

// setAside gives the folder of a dataset a name under which nobody looks for one.
func (s *Session) setAside(dir string) (string, error) {
	for n := 1; ; n++ {
		to := path.Join(path.Dir(dir), fmt.Sprintf("unlisted.%d.%s", n, path.Base(dir)))
		if _, err := s.fs.Stat(to); errors.Is(err, fs.ErrNotExist) {
			if err := s.bind.Rename(dir, to); err != nil {
				return "", err
			}
			return to, vfs.SyncParent(s.fs, to)
		} else if err != nil {
			return "", err
		}
	}
}

// makeDir makes the folder of a cached dataset. The first rank of the device calls it.
func (s *Session) makeDir(l *level, dir string) error {
	if l.dc.Rank() != 0 {
		return nil
	}
	if err := durable.MkdirAll(s.fs, cachedir.MetaDir(dir), true); err != nil {
		return pkg.Errorf("cache: %w", err)
	}
	return vfs.SyncParent(s.fs, cachedir.MetaDir(dir))
}

// groupPrefix begins the names of the redundancy files of a group.
func groupPrefix(dir, group string) string { return path.Join(cachedir.MetaDir(dir), group) }
