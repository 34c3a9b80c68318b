// Package calls makes the file system calls of package vfs. It provides the type [File], which is an *os.File or behaves like
// one, and system calls that package os lacks.
//
// Go makes system calls without the C library, so tools that interpose it (LD_PRELOAD: Darshan, Recorder) do not see them.
// With cgo and the build tag mpi or libc on Linux, calls that open, close, read, write, map, size, sync, rename and remove
// files go through the C library. C keeps no address of Go memory beyond a call. Go makes all other calls (directories,
// owners, times, locks) itself.
package calls
