// Package vfs is the file system under the rest of blobio: the one of the
// operating system, one in memory whose power can be cut, and one that fails on
// demand.
//
//   - OS: positional and vectored writes (pwritev on linux and darwin), space
//     reservation (fallocate on linux), directory syncs where there are any.
//   - Mem: in memory, safe for concurrent use. A power loss leaves what was
//     synced: file contents by File.Sync, names by FS.SyncDir. CrashClone
//     returns that state as a new Mem.
//   - NewBind: a view in which directories have other names, as nodes see their own.
//   - NewFault, FailNth, FailOn, Count: wrappers that see each operation before it
//     is done, to fail it, shorten it or count it.
//
// # Durability rules (what CrashClone relies on)
//
//	operation                   durable after
//	Create, Rename, Remove,     SyncDir of the directory that holds the name (for a
//	Mkdir of a name             Rename between directories: of both)
//	WriteAt, WritevAt,          Sync of that file (through any handle to it)
//	Truncate
//
// A Rename inside one directory is atomic: after a crash the new name stands for
// the old file or for the new one, never for neither. The content of a new name is
// what was synced of the file, so a Rename before the Sync may leave an empty file.
//
// # Names
//
// Names use the separator of the operating system in OS. Mem cleans a name,
// accepts "/" everywhere and does not tell "a/b" from "/a/b"; parents must exist.
// Errors are *fs.PathError or *os.LinkError, for errors.Is with fs.ErrNotExist,
// fs.ErrExist and so on; a full disk is ErrNoSpace.
package vfs
