package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sync/atomic"
)

// OpKind is the kind of an operation.
type OpKind uint8

// The kinds. OpWrite is WriteAt and WritevAt, OpStat is Stat and File.Size,
// OpMkdir is Mkdir and MkdirAll, OpOpen is Open and OpenRW.
const (
	OpCreate OpKind = iota
	OpOpen
	OpWrite
	OpRead
	OpSync
	OpRename
	OpRemove
	OpTruncate
	OpAllocate
	OpClose
	OpSyncDir
	OpMkdir
	OpReadDir
	OpStat
	OpSetMeta // SetFileMeta
	OpLock    // File.Lock
	numKinds
)

var kindNames = [numKinds]string{"create", "open", "write", "read", "sync", "rename", "remove",
	"truncate", "allocate", "close", "syncdir", "mkdir", "readdir", "stat", "setmeta", "lock"}

// String is the name of the kind in lower case.
func (k OpKind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("OpKind(%d)", uint8(k))
}

// Changes reports whether an operation of this kind can change the stored data, or
// what of them is durable.
func (k OpKind) Changes() bool {
	switch k {
	case OpOpen, OpRead, OpReadDir, OpStat, OpClose, OpLock:
		return false
	}
	return true
}

// Op is one operation that is about to be done.
type Op struct {
	Seq  int64 // 1 for the first of this FS
	Kind OpKind
	Name string // as the caller spelled it; of a Rename the old name
	New  string // of a Rename the new name
	Off  int64  // bytes; of Read, Write, Allocate and Map
	N    int64  // bytes; of Read, Write and Allocate; of Truncate the size
}

// String names the operation as "#12 write f.nc [0, 4096)".
func (o Op) String() string {
	s := fmt.Sprintf("#%d %s %s", o.Seq, o.Kind, o.Name)
	switch o.Kind {
	case OpRename:
		s += " to " + o.New
	case OpRead, OpWrite, OpAllocate:
		s += fmt.Sprintf(" [%d, %d)", o.Off, o.Off+o.N)
	case OpTruncate:
		s += fmt.Sprintf(" %d", o.N)
	}
	return s
}

// ShortWrite, returned by a hook for a write, lets the first N bytes be written;
// then the write returns N and Err. For a read it is the same with reading.
type ShortWrite struct {
	N   int64
	Err error
}

func (e *ShortWrite) Error() string { return fmt.Sprintf("short after %d bytes: %v", e.N, e.Err) }

// Unwrap returns Err.
func (e *ShortWrite) Unwrap() error { return e.Err }

// NewFault returns a file system that calls hook before each operation on under.
// An error of the hook is returned instead of doing the operation, except that
// Close still releases the handle, and a *ShortWrite does a part. hook may be
// called by several goroutines at once; nil never fails.
func NewFault(under FS, hook func(op Op) error) FS {
	return &faultFS{under: under, hook: hook}
}

// FailNth returns a file system whose n-th operation (1-based, of any kind) fails
// with err, as the Err of a *fs.PathError.
func FailNth(under FS, n int64, err error) FS {
	return NewFault(under, func(op Op) error {
		if op.Seq == n {
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
		return nil
	})
}

// FailFrom is FailNth for the n-th and all later operations: a device that dies.
func FailFrom(under FS, n int64, err error) FS {
	return NewFault(under, func(op Op) error {
		if op.Seq >= n {
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
		return nil
	})
}

// FailOn returns a hook that fails the n-th operation (1-based) of this kind whose
// base name matches pattern (as of path.Match; of a Rename either name; "" is
// any name). n = 0 fails all of them.
func FailOn(kind OpKind, pattern string, n int64, err error) func(Op) error {
	var seen atomic.Int64
	match := func(name string) bool {
		if pattern == "" {
			return true
		}
		ok, _ := path.Match(pattern, filepath.Base(name))
		return ok
	}
	return func(op Op) error {
		if op.Kind != kind || !match(op.Name) && (op.Kind != OpRename || !match(op.New)) {
			return nil
		}
		if k := seen.Add(1); n == 0 || k == n {
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
		return nil
	}
}

// Counter is a file system that counts.
type Counter struct {
	*faultFS
	ops   atomic.Int64
	kinds [numKinds]atomic.Int64
	bytes [numKinds]atomic.Int64
}

// Count returns a file system that counts the operations on under.
func Count(under FS) *Counter {
	c := &Counter{}
	c.faultFS = &faultFS{under: under, hook: func(op Op) error {
		c.ops.Add(1)
		c.kinds[op.Kind].Add(1)
		if op.Kind == OpRead || op.Kind == OpWrite {
			c.bytes[op.Kind].Add(op.N)
		}
		return nil
	}}
	return c
}

// Ops is the number of operations so far: FailNth fails each for n in 1 ... Ops.
func (c *Counter) Ops() int64 { return c.ops.Load() }

// Kind is the number of operations of one kind.
func (c *Counter) Kind(k OpKind) int64 { return c.kinds[k].Load() }

// Bytes is the number of bytes asked to be read (OpRead) or written (OpWrite).
func (c *Counter) Bytes(k OpKind) int64 { return c.bytes[k].Load() }

// partial splits an error of the hook: how many bytes to move first, if any.
func partial(err error) (n int64, cause error, ok bool) {
	var s *ShortWrite
	if errors.As(err, &s) {
		return s.N, s.Err, true
	}
	return 0, err, false
}
