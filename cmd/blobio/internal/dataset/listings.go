package dataset

import (
	"io/fs"
	"slices"
	"sync"
	"time"

	"blobio/internal/base/vfs"
)

// listings is a file system that caches the listing of a directory until the directory changes. Without the cache, ls would list
// the directory several times for each of thousands of datasets. A directory that changed within the last tick is not cached,
// because it may change again without a new modification time.
type listings struct {
	vfs.FS
	mu   sync.Mutex
	seen map[string]listing
}

type listing struct {
	dir     string // identity of the directory
	entries []fs.DirEntry
}

// tick is longer than the resolution of file times.
const tick = 2 * time.Second

func (l *listings) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := l.Stat(name)
	if err != nil {
		return l.FS.ReadDir(name)
	}
	now := vfs.Identity(info)
	l.mu.Lock()
	was := l.seen[name]
	l.mu.Unlock()
	if was.dir == now {
		return slices.Clip(was.entries), nil // callers do not change the entries
	}
	entries, err := l.FS.ReadDir(name)
	if err == nil && time.Since(info.ModTime()) > tick {
		l.mu.Lock()
		if l.seen == nil {
			l.seen = map[string]listing{}
		}
		l.seen[name] = listing{now, entries}
		l.mu.Unlock()
	}
	return entries, err
}
