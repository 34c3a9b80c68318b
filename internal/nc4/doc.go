// Package nc4 makes ordinary netCDF-4 files: HDF5 files whose datasets, attributes and dimension scales mean what a CDF
// header says, as the netCDF library stores it.
//
//	New            the metadata of a file, laid out; then chunks are compressed by Var.Pack and told by Var.SetChunk
//	Open           the header of a file, and its data as the bytes of the CDF-5 file that says the same
//
// A dimension is a dataset of its own, or the variable that has its name and begins with it. Text attributes are strings of
// fixed length. Chunks are those of package chunks. docs/format-netcdf4.md has the rest.
package nc4
