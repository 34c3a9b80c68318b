// Command capi is the C library: built with -buildmode=c-shared it is
// libblobio.so, with -buildmode=c-archive libblobio.a. blobio.h is its
// interface, fortran/blobio.f90 the module for Fortran, docs/guide-c.md the guide.
//
//	make -C capi                    # build/libblobio.so and .a
//	make -C capi MPI=ompi           # build/libblobio_mpi.so and .a, with Open MPI (or MPI=mpich)
//	make -C capi install PREFIX=/usr/local
//
// Without cgo it is an empty program. As a program it does nothing in any case.
//
// # How a call comes in
//
//	blobio_put                  api.c: refuses to run in a child of fork, passes addresses as numbers
//	  blobioGoPut               write.go: the handle's file, its lock, slices over the caller's memory
//	    blob.Put                package blob
//	  guarded                   call.go: a panic becomes BLOBIO_EINTERNAL, a fault at an address of the caller BLOBIO_EFAULT
//	                            and the error goes to the buffer of the calling thread
//
// Addresses come as uintptr and become slices where they are used (package edge),
// after NULL, alignment and length have been looked at: a wild one is never in a
// Go variable of a pointer type, which the garbage collector could stumble
// over. No Go pointer is ever passed to C: C has a number
// from a table.
//
// Go keeps memory of C beyond a call only where the option retain= lends it, or blobio_store_protect names it.
package main
