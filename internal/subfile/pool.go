package subfile

import (
	"blobio/internal/base/cache"
	"blobio/internal/base/vfs"
)

// defaultMaxOpen is the default maximum of open files in a Pool.
const defaultMaxOpen = 256

// A Pool keeps files open up to a limit. All pools of the process together keep at most vfs.Descriptors files open. At the limit,
// a pool closes an idle file and reopens it when it is needed. The limit applies only to idle files. More files than the limit
// may be in use. A Pool is safe for concurrent use.
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

// Get returns the open file. The caller must call Put once when it has finished with the file. write opens the file for reading
// and writing; a name must not be opened both ways in one pool.
func (p *Pool) Get(name string, write bool) (vfs.File, error) {
	return p.files.Get(name, func() (vfs.File, error) {
		if write {
			return p.fsys.OpenRW(name)
		}
		return p.fsys.Open(name)
	})
}

// Keep adds an idle file that is open for reading and writing. The pool must not hold a file of this name yet.
func (p *Pool) Keep(name string, f vfs.File) error { return p.files.Keep(name, f) }

// Put ends one use of the file.
func (p *Pool) Put(name string) { p.files.Put(name) }

// CloseFile closes an idle file if it is open. On systems that cannot rename open files, call CloseFile before a rename.
func (p *Pool) CloseFile(name string) error {
	return p.files.Forget(func(k string) bool { return k == name })
}

// Close closes all files. A rank that has not yet learned of another rank's failure may still use a file; Put then closes it.
func (p *Pool) Close() error { return p.files.Close() }
