// Package netcdf4 makes ordinary netCDF-4 files: HDF5 files whose datasets, attributes and dimension scales mean what a CDF
// header says, as the netCDF library stores it.
//
//	New            the metadata of a file, laid out; then Var.Pack compresses chunks, and Var.SetChunk records their places
//	FromFile       the header of a file, and its data as the bytes of the equivalent CDF-5 file
//
// A dimension is a dataset of its own, or the variable of its name if it is the first dimension of that variable. Text attributes are strings of
// fixed length. Chunks are laid out by package chunks. docs/format-netcdf4.md has the rest.
package netcdf4
