// Package virtual computes the bytes of ordinary netCDF files when they are read. The files are not stored.
//
//	Map the variable at each byte of the file, from its header File an io.ReaderAt over a function that makes elements of
//	variables
//
// A File makes and verifies elements in units. A read of a part of a unit makes the whole unit and caches it for the next
// read. If a unit cannot be made, only reads of its bytes return an error.
package virtual
