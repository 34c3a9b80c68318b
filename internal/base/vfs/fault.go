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

// String returns the name of the kind in lower case.
func (k OpKind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("OpKind(%d)", uint8(k))
}

// Changes reports whether an operation of this kind can change the stored data or their durable part.
func (k OpKind) Changes() bool {
	switch k {
	case OpOpen, OpRead, OpReadDir, OpStat, OpClose, OpLock:
		return false
	}
	return true
}

// Op is an operation that is about to be done.
type Op struct {
	Seq  int64 // number of the operation in this FS, from 1
	Kind OpKind
	Name string // name in the spelling of the caller; for a Rename, the old name
	New  string // new name of a Rename
	Off  int64  // byte offset of Read, Write, Allocate and Map
	N    int64  // bytes of Read, Write and Allocate; size of Truncate
}

// String returns the operation as "#12 write f.nc [0, 4096)".
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

// ShortWrite is an error of a hook that lets the first N bytes of a write pass. The write then returns N and Err. For a read, it
// limits the bytes read.
type ShortWrite struct {
	N   int64
	Err error
}

func (e *ShortWrite) Error() string { return fmt.Sprintf("short after %d bytes: %v", e.N, e.Err) }

// Unwrap returns Err.
func (e *ShortWrite) Unwrap() error { return e.Err }

// NewFault returns a file system that calls hook before each operation on under. If hook returns an error, the operation fails
// with this error and is not done. There are two exceptions: Close always releases the handle, and after a *ShortWrite the
// first bytes are written or read. Several goroutines may call hook at once. A nil hook never fails.
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

// FailFrom is FailNth for the n-th and all later operations, as if the device had failed.
func FailFrom(under FS, n int64, err error) FS {
	return NewFault(under, func(op Op) error {
		if op.Seq >= n {
			return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
		}
		return nil
	})
}

// FailOn returns a hook that fails the n-th operation (from 1) of this kind whose base name matches pattern, as in path.Match.
// For a Rename either name may match. The pattern "" matches any name. n = 0 fails all these operations.
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

// Counter is a file system that counts operations.
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

// Ops returns the number of operations so far. FailNth can fail each n in 1 ... Ops.
func (c *Counter) Ops() int64 { return c.ops.Load() }

// Kind returns the number of operations of one kind.
func (c *Counter) Kind(k OpKind) int64 { return c.kinds[k].Load() }

// Bytes returns the number of bytes requested in reads (OpRead) or writes (OpWrite).
func (c *Counter) Bytes(k OpKind) int64 { return c.bytes[k].Load() }

// partial returns the number of bytes to move before the error of a hook, if any.
func partial(err error) (n int64, cause error, ok bool) {
	var s *ShortWrite
	if errors.As(err, &s) {
		return s.N, s.Err, true
	}
	return 0, err, false
}
