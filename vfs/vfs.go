// Package vfs is the file system that other packages of blobio take: the operating system's, one in memory whose power
// can be cut, and one that fails on demand. Programs need none of it, since a nil FS is the operating system's; tests of
// programs do.
//
//	m := vfs.NewMem()
//	... write checkpoints with m, without the last Sync ...
//	after := m.CrashClone(vfs.CrashOptions{}) // what a power loss leaves
//
// An [FS] has Create, Open, OpenRW, Rename, Remove, Stat, ReadDir, Mkdir, MkdirAll, SyncDir and Local. A [File] is an
// io.ReaderAt and io.WriterAt with WritevAt, Size, Truncate, Allocate, Sync, Close and Name.
//
// In a Mem the content and size of a file are durable after File.Sync; a name that was made, renamed or removed after
// FS.SyncDir of its directory (for a Rename between directories, of both). A Rename within a directory is atomic.
package vfs

import "blobio/internal/base/vfs"

// FS is a file system, safe for concurrent use. Names have the separator of the operating system in OS. Mem accepts "/"
// everywhere, does not tell "a/b" from "/a/b", and parents must exist. Errors are for errors.Is with fs.ErrNotExist,
// fs.ErrExist and so on.
type FS = vfs.FS

// File is an open file. Reads and writes are positional; any number of goroutines may use one at once.
type File = vfs.File

// OS is the file system of the operating system.
var OS = vfs.OS

// ErrNoSpace is in the chain of errors of a full disk, or of a full Mem.
var ErrNoSpace = vfs.ErrNoSpace

// Mem is a file system in memory. SetCapacity makes it fill up; CrashClone returns what a power loss at this moment would
// leave, and m goes on unharmed.
type Mem = vfs.Mem

// CrashOptions says what of the unsynced state a power loss leaves: with a Rand a part of it, by chance; without, nothing.
type CrashOptions = vfs.CrashOptions

// NewMem returns an empty file system in memory.
func NewMem() *Mem { return vfs.NewMem() }

// Op is an operation that is about to be done: its Kind, Name, place and bytes, and its number Seq, from 1.
type Op = vfs.Op

// OpKind is the kind of an operation; its String is "create", "open", "write", "read", "sync", "rename", "remove",
// "truncate", "allocate", "close", "syncdir", "mkdir", "readdir", "stat", "setmeta", "map" or "lock". Changes reports whether the
// kind can change the stored data, or what of them is durable.
type OpKind = vfs.OpKind

// ShortWrite as the error of a hook lets the first N bytes of a write pass, before Err.
type ShortWrite = vfs.ShortWrite

// NewFault returns a view of under that calls hook before each operation. If it returns an error, the operation is not done
// and fails with it. hook may be called by several goroutines at once.
func NewFault(under FS, hook func(Op) error) FS { return vfs.NewFault(vfs.OrOS(under), hook) }
