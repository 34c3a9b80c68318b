package tree

import (
	"io/fs"
	"sync"
	"time"

	"blobio/internal/base/vfs"
)

// names is a file system that caches the name lists of a few directories. Opening a dataset needs the list of its directory,
// and a directory may have hundreds of datasets with hundreds of subfiles each.
type names struct {
	*vfs.Root

	mu    sync.Mutex
	lists []nameList // the last one is the newest
}

type nameList struct {
	dir, identity string
	entries       []fs.DirEntry
}

const (
	maxLists = 4
	// settled is how long a directory must be unchanged before its list is cached: a later change then gets a different time.
	settled = 2 * time.Second
)

func newNames(r *vfs.Root) *names { return &names{Root: r} }

// ReadDir implements vfs.FS.
func (n *names) ReadDir(dir string) ([]fs.DirEntry, error) {
	info, err := n.Root.Stat(dir)
	if err != nil {
		return nil, err
	}
	id := vfs.Identity(info)
	n.mu.Lock()
	for _, l := range n.lists {
		if l.dir == dir && l.identity == id {
			n.mu.Unlock()
			return l.entries, nil
		}
	}
	n.mu.Unlock()
	old := time.Since(info.ModTime()) > settled && n.Local(dir)
	list, err := n.Root.ReadDir(dir)
	if err != nil || !old {
		return list, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lists) == maxLists {
		n.lists = n.lists[1:]
	}
	n.lists = append(n.lists[:len(n.lists):len(n.lists)], nameList{dir, id, list})
	return list, nil
}
