// Package layout computes the offsets of data in the subfiles of a dataset. Layouts implement one interface, Scheme, in a file
// each: Variable, Process, Compressed, and Canonical for ordinary netCDF. The package opens and writes no files; it reads tables
// of blobs through a reader of the caller.
package layout
