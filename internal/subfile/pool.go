package subfile

import (
	"blobio/internal/base/cache"
	"blobio/internal/base/vfs"
)

// defaultMaxOpen is how many files a Pool keeps open by default.
const defaultMaxOpen = 256

// A Pool holds open files under a cap, and all pools of the process hold no more
// than vfs.Descriptors. At the cap it closes a file that nobody uses,
// and opens it again when it is needed. Files in use may
// exceed the cap: it bounds the files that are kept, not those in use at one instant.
// It is safe for concurrent use.
type Pool struct {
	fsys  vfs.FS
	files *cache.Pool[string, vfs.File]
}

// NewPool returns a pool that keeps at most max files open; 0 means 256.
func NewPool(fsys vfs.FS, max int) *Pool {
	if max <= 0 {
		max = defaultMaxOpen
	}
	return &Pool{vfs.OrOS(fsys), cache.NewPool[string](vfs.Descriptors, max, vfs.File.Close)}
}

// FS returns the file system of the pool.
func (p *Pool) FS() vfs.FS { return p.fsys }

// Get returns the open file; Put must be called once for it. write opens for
// reading and writing; a pool must not mix both for one name.
func (p *Pool) Get(name string, write bool) (vfs.File, error) {
	return p.files.Get(name, func() (vfs.File, error) {
		if write {
			return p.fsys.OpenRW(name)
		}
		return p.fsys.Open(name)
	})
}

// Keep takes over a file that is open for reading and writing, and has a name that the pool does not hold. Nobody uses it yet.
func (p *Pool) Keep(name string, f vfs.File) error { return p.files.Keep(name, f) }

// Put gives back one use of the file.
func (p *Pool) Put(name string) { p.files.Put(name) }

// CloseFile closes one idle file, if it is open. It is needed before a rename
// on systems that do not rename open files.
func (p *Pool) CloseFile(name string) error {
	return p.files.Forget(func(k string) bool { return k == name })
}

// Close closes all files. One that is still in use, by a rank that has not
// heard yet that another failed, is closed when it is given back.
func (p *Pool) Close() error { return p.files.Close() }
