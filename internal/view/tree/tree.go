package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Options are the options of Open. The zero value, or nil, means the defaults.
type Options struct {
	Version cdf5.Version      // version of the netCDF files; default CDF5
	Verify  blob.Verification // which checksums reads compare; default VerifyOnce
	Workers int               // concurrent reads of each dataset; default GOMAXPROCS

	AllowMissing bool // like blob.OpenOptions; otherwise reads of missing data fail
	ZeroFill     bool // elements that no blob covers are zeros instead of fill values

	MaxOpen int           // maximum number of held datasets; default 1024
	Wait    time.Duration // maximum time for which Dataset waits for a release when MaxOpen datasets are held; default: no wait
	MaxIdle int           // number of unheld readers to cache; default 16; negative: none
	Idle    time.Duration // time for which unheld readers are cached; default 1 minute
	Memory  int64         // limit of the readers' caches and read-ahead, including maps, in bytes, at least 16 MiB; default 256 MiB. Half is shared for decoded data. The rest is divided, more for the first readers, at least 4 MiB each. Long headers may take an additional quarter
}

const (
	defaultMaxOpen = 1024
	defaultMaxIdle = 16
	defaultIdle    = time.Minute
	defaultMemory  = 256 << 20
	minMemory      = 16 << 20
)

// Validate returns an error for invalid options.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Version != 0 && !o.Version.Valid():
		return fault.Usage("Options.Version %d, want 1, 2 or 5", o.Version)
	case o.MaxOpen < 0 || o.Wait < 0 || o.Idle < 0 || o.Workers < 0:
		return fault.Usage("Options.MaxOpen %d, Wait %v, Idle %v and Workers %d, want >= 0", o.MaxOpen, o.Wait, o.Idle, o.Workers)
	case o.Memory != 0 && o.Memory < minMemory:
		return fault.Usage("Options.Memory %d, want at least %d", o.Memory, minMemory)
	}
	return nil
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	set := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	set(&v.MaxOpen, defaultMaxOpen)
	set(&v.MaxIdle, defaultMaxIdle)
	if v.Version == 0 {
		v.Version = cdf5.CDF5
	}
	if v.Idle == 0 {
		v.Idle = defaultIdle
	}
	if v.Memory == 0 {
		v.Memory = defaultMemory
	}
	return v
}

// A Tree is the content of a directory. It is safe for concurrent use.
type Tree struct {
	root *vfs.Root
	fs   vfs.FS // root, with cached name lists
	opt  Options

	pool *blob.CanonicalPool // half of Options.Memory, for decoded data

	facts facts

	mu      sync.Mutex
	readers readers
	closed  bool
}

// Open opens a directory. The caller must call Close.
func Open(root string, o *Options) (*Tree, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fault.Usage("%s is not a directory", root)
	}
	r, err := vfs.NewRoot(root)
	if err != nil {
		return nil, err
	}
	t := &Tree{root: r, fs: newNames(r), opt: o.withDefaults()}
	t.pool = blob.NewCanonicalPool(t.opt.Memory / 2)
	t.readers.init(t.opt)
	return t, nil
}

// Root returns the absolute path of the directory.
func (t *Tree) Root() string { return t.root.Dir() }

// Close closes the unheld readers at once, and the others on release.
func (t *Tree) Close() error {
	t.mu.Lock()
	t.closed = true
	idle := t.readers.idle(0)
	t.mu.Unlock()
	return errors.Join(closeAll(idle), t.root.Close())
}

// real returns the name of a path in the file system.
func (t *Tree) real(op, path string) (string, error) {
	if path == "" {
		return t.root.Dir(), nil
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) || filepath.Separator != '/' && strings.ContainsRune(part, filepath.Separator) {
			return "", gone(op, path)
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return "", gone(op, path)
	}
	return filepath.Join(t.root.Dir(), filepath.FromSlash(path)), nil
}

// gone returns the error for a missing or hidden path.
func gone(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// Watch watches the writer of the dataset of a path.
func (t *Tree) Watch(path string) (*blob.Watch, error) {
	name, err := t.real("open", path)
	if err != nil {
		return nil, err
	}
	return blob.NewWatch(t.root, name), nil
}

// File opens a plain file for reading.
func (t *Tree) File(path string) (vfs.File, error) {
	e, err := t.Lookup(path)
	if err != nil {
		return nil, err
	}
	if e.Kind != KindPlain {
		return nil, fault.Usage("%s: found a %v, want a plain file", path, e.Kind)
	}
	name, err := t.real("open", path)
	if err != nil {
		return nil, err
	}
	return t.root.Open(name)
}
