// Package netcdf4 makes ordinary netCDF-4 files: HDF5 files whose datasets, attributes and dimension scales represent a CDF
// header in the way of the netCDF library.
//
//	New            lays out the metadata of a file; then Var.Pack compresses chunks, and Var.SetChunk records their offsets
//	FromFile       reads the header of a file, and its data as the bytes of the equivalent CDF-5 file
//
// A dimension is the variable with its name if it is that variable's first dimension; otherwise it is a dataset of its own.
// Text attributes are fixed-length strings. Package chunks lays out chunks. docs/format-netcdf4.md has the details.
package netcdf4
