// Package vfs is the file system layer of blobio: the file system of the operating system, a file system in memory
// whose power can be cut, and a file system that fails on demand.
//
//   - OS: positional and vectored writes (pwritev on linux and darwin), space reservation (fallocate on linux), directory
//     syncs where the system has them.
//   - Mem: in memory, safe for concurrent use. Synced state survives a power loss: file contents after File.Sync, names
//     after FS.SyncDir. CrashClone returns the synced state as a new Mem.
//   - NewBind: a view in which directories have other names.
//   - NewFault, FailNth, FailOn, Count: wrappers that see each operation first, to fail, shorten or count it.
//
// # Durability rules (used by CrashClone)
//
//	operation                   durable after
//	Create, Rename, Remove,     SyncDir of the directory that holds the name (for a
//	Mkdir of a name             Rename between directories: of both)
//	WriteAt, WritevAt,          Sync of that file (through any handle to it)
//	Truncate
//
// A Rename inside one directory is atomic: after a crash the new name refers to the old file or to the new one. Only
// synced content of the new file survives, so a Rename before the Sync may leave an empty file.
//
// # Names
//
// Names in OS use the separator of the operating system. Mem cleans a name, accepts "/" everywhere and treats "a/b" and
// "/a/b" as equal. Parents must exist. Errors are *fs.PathError or *os.LinkError, for errors.Is with fs.ErrNotExist,
// fs.ErrExist and so on. A full disk is ErrNoSpace.
package vfs
