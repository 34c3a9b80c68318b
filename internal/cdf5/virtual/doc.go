// Package virtual makes the bytes of ordinary netCDF files that exist nowhere: they are computed when they are read.
//
//	Map    what lies at each byte of such a file, by its header
//	File   an io.ReaderAt over a function that makes elements of variables
//
// A File makes elements in units, which are made and verified at once: a read of a part of a unit makes the whole of it, and
// it is kept for the next read. If a unit cannot be made, reads of its bytes return an error, and no others do.
package virtual
