package kvtree

import (
	"blobio/internal/base/fault"
	"io/fs"
)

// Options are options for reading and for Update. A nil *Options means all defaults, and 0 in a field means the default of the
// field.
type Options struct {
	// MaxBytes is the maximum length of a record in bytes: 24 ... 2^32-1, default 256 MiB. Bytes after the record in the file are
	// not included.
	MaxBytes int64
	// MaxElements is the maximum number of elements in all nodes together: 1 ... 2^31-1, default 8 Mi. Each element takes about 100
	// bytes of memory, not including its key.
	MaxElements int64
	// MaxDepth is the maximum number of levels: 1 ... 2^20, default 65536.
	MaxDepth int
	// Strict rejects some inputs that SCR accepts: an empty file, flags other than bit 0, duplicate keys in a node, and bytes
	// between the root and the end of the record.
	Strict bool
	// File is the file name in errors. Functions that open a file use the name of this file and ignore File.
	File string

	// NoLock disables the locks of Update and ReadLocked. Set it only if no other goroutine and no other program uses the file. By
	// default they lock with flock(2), as SCR does in its default build.
	NoLock bool
	// Replace lets Update start with an empty tree if an interrupted write has damaged the content. It also lets Update remove bytes
	// after the record. By default Update returns an error in both cases and does not change the file, while SCR continues.
	Replace bool
	// Perm are the permissions of a file that Update creates, reduced by the umask; 0 means 0666.
	Perm fs.FileMode
}

// Defaults and ranges of Options.
const (
	defaultMaxBytes    = 256 << 20
	defaultMaxElements = 8 << 20
	defaultMaxDepth    = 1 << 16
	topElements        = 1<<31 - 1
	topDepth           = 1 << 20 // limited by Go's stack
)

// Validate returns an error that wraps fault.ErrUsage if a field is out of range.
func (o *Options) Validate() error {
	bad := func(field string, v, lo, hi int64) error {
		if v == 0 || lo <= v && v <= hi {
			return nil
		}
		return fault.Usage("Options.%s is %d, want %d to %d", field, v, lo, hi)
	}
	if o == nil {
		return nil
	}
	if err := bad("MaxBytes", o.MaxBytes, headerLen+countLen, maxFileSize); err != nil {
		return err
	}
	if err := bad("MaxElements", o.MaxElements, 1, topElements); err != nil {
		return err
	}
	return bad("MaxDepth", int64(o.MaxDepth), 1, topDepth)
}

// fill returns a copy of the options in which defaults are filled in. It checks the ranges of the fields.
func (o *Options) fill() (Options, error) {
	if err := o.Validate(); err != nil {
		return Options{}, err
	}
	var f Options
	if o != nil {
		f = *o
	}
	if f.MaxBytes == 0 {
		f.MaxBytes = defaultMaxBytes
	}
	if f.MaxElements == 0 {
		f.MaxElements = defaultMaxElements
	}
	if f.MaxDepth == 0 {
		f.MaxDepth = defaultMaxDepth
	}
	return f, nil
}

// fault returns a FormatError.
func (o *Options) fault(off int64, field string, class error, format string, args ...any) error {
	return fault.At(o.File, off, field, class, format, args...)
}
