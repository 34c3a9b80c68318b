// Package calls makes the file system calls of package vfs. It provides the type [File], which is os.File or has the same
// behavior, and system calls that package os lacks.
//
// Go makes system calls without the C library. So tools that interpose the C library (by LD_PRELOAD, such as Darshan and
// Recorder) do not see these calls. With cgo and the build tag mpi or libc on Linux, calls that open, close, read, write,
// map, size, sync, rename and remove files go through the C library. C keeps no address of Go memory beyond a call. Go makes
// all other calls (directories, owners, times, locks) itself.
package calls
