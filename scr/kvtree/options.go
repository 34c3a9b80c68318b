package kvtree

import (
	"blobio/internal/base/fault"
	"io/fs"
)

// Options of reading, and of Update. nil means all defaults. 0 in a field means its default.
type Options struct {
	// MaxBytes is the longest record, in bytes, that is read: 24 ... 2^32-1, default 256 MiB. Bytes behind the
	// record in its file do not count.
	MaxBytes int64
	// MaxElements is the largest number of elements in all nodes together: 1 ... 2^31-1, default 8 Mi. One takes
	// about 100 bytes of memory, beside its key.
	MaxElements int64
	// MaxDepth is the largest number of levels: 1 ... 2^20, default 65536.
	MaxDepth int
	// Strict makes errors of some things that the reference accepts: an empty file, flags other than bit 0, a key twice in one
	// node, bytes between the root and the end of the record.
	Strict bool
	// File is the name that errors carry. Functions that open a file use the name they are given.
	File string

	// NoLock makes Update and ReadLocked take no lock: for a file that only this program touches, at one place. By
	// default they lock with flock(2), as the reference does unless it was built otherwise.
	NoLock bool
	// Replace lets Update begin with an empty tree when the content is damaged (a write in place was cut off).
	// It also lets Update cut off bytes behind the record. Default: both are errors and the file stays as it is. The
	// reference goes on.
	Replace bool
	// Perm are the permissions of a file that Update makes, under the umask; 0: 0666.
	Perm fs.FileMode
}

// Defaults and ranges of Options.
const (
	defaultMaxBytes    = 256 << 20
	defaultMaxElements = 8 << 20
	defaultMaxDepth    = 1 << 16
	topElements        = 1<<31 - 1
	topDepth           = 1 << 20 // Go's stack holds as many calls
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

// fill returns valid options with the defaults put in.
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

// fault makes a FormatError.
func (o *Options) fault(off int64, field string, class error, format string, args ...any) error {
	return fault.At(o.File, off, field, class, format, args...)
}
