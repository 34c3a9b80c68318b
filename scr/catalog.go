package scr

import (
	"fmt"
	"path"

	"blobio/internal/vfs"
	"blobio/scr/cachedir"
)

// cindex is the name of the catalogue of this node.
func (s *Session) cindex() string { return path.Join(s.p.control, cachedir.CatalogName) }

// list changes the catalogue of this node. The first rank of the node calls it; the others return at once.
func (s *Session) list(change func(c *cachedir.Catalog)) error {
	if s.node.c.Rank() != 0 {
		return nil
	}
	c, err := cachedir.ReadCatalog(s.fs, s.cindex())
	if err != nil {
		return err
	}
	change(c)
	return c.Write(s.fs, s.cindex())
}

// makeDir makes the folder of a cached dataset. The first rank of the device calls it.
func (s *Session) makeDir(l *level, dir string) error {
	if l.dc.Rank() != 0 {
		return nil
	}
	if err := mkdirDurable(s.fs, cachedir.MetaDir(dir)); err != nil {
		return fmt.Errorf("scr: cache: %w", err)
	}
	return vfs.SyncParent(s.fs, cachedir.MetaDir(dir))
}

// groupPrefix begins the names of the redundancy files of a group.
func groupPrefix(dir, group string) string { return path.Join(cachedir.MetaDir(dir), group) }
