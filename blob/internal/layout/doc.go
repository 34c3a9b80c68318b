// Package layout computes the offsets of data in the subfiles of a dataset. The layouts Variable, Process, Compressed, and
// Canonical (ordinary netCDF) implement the interface Scheme. The package opens and writes no files; it reads tables of blobs
// through a reader that the caller passes.
package layout
