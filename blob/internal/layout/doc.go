// Package layout says where things lie in the subfiles of a dataset. Layouts differ behind one interface, Scheme, with a file
// for each of them: Variable, Process, Compressed, and Canonical for ordinary netCDF. Nothing here opens or writes files; tables of blobs
// are read through what the caller has opened.
package layout
