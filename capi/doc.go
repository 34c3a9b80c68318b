// Command capi is the C library: libblobio.so with -buildmode=c-shared, libblobio.a with
// -buildmode=c-archive. blobio.h is its interface, fortran/blobio.f90 the Fortran module, and
// docs/guide-c.md the guide.
//
//	make -C capi                    # build/libblobio.so and .a
//	make -C capi MPI=ompi           # build/libblobio_mpi.so and .a, with Open MPI (or MPI=mpich)
//	make -C capi install PREFIX=/usr/local
//
// As a program it does nothing. Without cgo it is empty.
//
// # Path of a call
//
//	blobio_put                  api.c: refuses to run in a child of fork, passes addresses as numbers
//	  blobioGoPut               write.go: the handle's file, its lock, slices over the caller's memory
//	    blob.Put                package blob
//	  guarded                   call.go: a panic becomes BLOBIO_EINTERNAL, a fault at an address of the caller BLOBIO_EFAULT
//	                            and the error goes to the buffer of the calling thread
//
// Addresses arrive as uintptr. Package edge makes them slices after it has checked NULL, alignment and
// length. So no Go variable of pointer type holds a wild address, which could confuse the garbage
// collector. C never gets a Go pointer, only a number from a table.
//
// Go keeps C memory beyond a call only if the option retain= lends it or blobio_store_protect names it.
package main
