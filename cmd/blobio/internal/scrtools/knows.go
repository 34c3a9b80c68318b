package scrtools

import (
	"errors"
	"os"
	"path/filepath"

	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// KnowsPrefix says that a path is a prefix directory.
func KnowsPrefix(path string) bool {
	return isDir(filepath.Join(path, prefixdir.MetaDir)) && !has(filepath.Join(path, prefixdir.MetaDir), "filemap_0") || isDir(path) && has(path, "index.scr")
}

// KnowsControl says that a path is the control directory of a node, which lists what is in its caches.
func KnowsControl(path string) bool {
	return isDir(path) && (has(path, cachedir.CatalogName) || has(path, cachedir.MasterName))
}

// KnowsTree says that a path is a key/value file, such as the header of a file of redset; a damaged one is one, too.
func KnowsTree(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() < 4 {
		return false
	}
	_, err := kvtree.ReadFileRecord(nil, path, nil)
	return err == nil || isTreeDamage(err) && !errors.Is(err, kvtree.ErrTruncated)
}
