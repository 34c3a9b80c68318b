// Package vfs has the file systems of blobio: the file system of the operating system, a file system in memory that simulates a
// power loss, and a file system that fails on demand. The last two are for tests of programs. A nil FS means the operating
// system's file system.
//
//	m := vfs.NewMem()
//	... write checkpoints with m, without the last Sync ...
//	after := m.CrashClone(vfs.CrashOptions{}) // what a power loss leaves
//
// An [FS] has Create, Open, OpenRW, Rename, Remove, Stat, ReadDir, Mkdir, MkdirAll, SyncDir and Local. A [File] is an
// io.ReaderAt and io.WriterAt with WritevAt, Size, Truncate, Allocate, Sync, Close and Name.
//
// In a Mem the content and size of a file are durable after File.Sync. A created, renamed or removed name is durable after
// FS.SyncDir of its directory (for a Rename between directories, of both). A Rename within a directory is atomic.
package vfs

import "blobio/internal/base/vfs"

// FS is a file system, safe for concurrent use. Names in OS use the separator of the operating system. Mem accepts "/" everywhere
// and treats "a/b" and "/a/b" as equal. Parents must exist. Use errors.Is with fs.ErrNotExist, fs.ErrExist and so on.
type FS = vfs.FS

// File is an open file. Reads and writes have offsets, and several goroutines may use a File at once.
type File = vfs.File

// OS is the file system of the operating system.
var OS = vfs.OS

// ErrNoSpace is in the error chain for a full disk or a full Mem.
var ErrNoSpace = vfs.ErrNoSpace

// Mem is a file system in memory. SetCapacity limits its size. CrashClone returns the state after a power loss now and leaves the
// Mem unchanged.
type Mem = vfs.Mem

// CrashOptions choose the part of the unsynced state that survives a power loss: a random part with a Rand, otherwise nothing.
type CrashOptions = vfs.CrashOptions

// NewMem returns an empty file system in memory.
func NewMem() *Mem { return vfs.NewMem() }

// Op is an operation that is about to be done: its Kind, Name, offset and bytes, and its number Seq, from 1.
type Op = vfs.Op

// OpKind is the kind of an operation. Its String is "create", "open", "write", "read", "sync", "rename", "remove", "truncate",
// "allocate", "close", "syncdir", "mkdir", "readdir", "stat", "setmeta", "map" or "lock". Changes reports whether the kind can
// change the stored data or their durable part.
type OpKind = vfs.OpKind

// ShortWrite, as the error of a hook, lets the first N bytes of a write pass and then returns Err.
type ShortWrite = vfs.ShortWrite

// NewFault returns a view of under that calls hook before each operation. If hook returns an error, the operation fails with this
// error and is not done. Several goroutines may call hook at once.
func NewFault(under FS, hook func(Op) error) FS { return vfs.NewFault(vfs.OrOS(under), hook) }
