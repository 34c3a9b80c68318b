// Package calls makes the system calls on files for package vfs: a [File], which is an *os.File or has the same methods and
// errors, and what package os has no call for.
//
// Go makes system calls by itself, where tools that stand in front of the C library (LD_PRELOAD: Darshan, Recorder) do not see
// them. With cgo and the build tag mpi or libc on Linux, those that open, close, read, write, map, size, sync, rename and
// remove files go through the C library instead. C keeps no address of Go memory beyond a call. All others (directories,
// owners, times, locks, what goes by a name alone) stay Go's.
package calls
