// Package virtual makes the bytes of ordinary netCDF files that exist nowhere: they are computed when they are read.
//
//	Map    what lies at each byte of such a file, by its header
//	File   an io.ReaderAt over a function that makes elements of variables
//
// A File makes elements in units, what can be made and verified at once: who reads a part of a unit has it made whole, and
// it is kept for the next read. What cannot be made is an error at the bytes of its unit and nowhere else.
package virtual
